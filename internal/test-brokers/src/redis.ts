import { accessSync, constants } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { connect as connectSocket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { Watchdog } from '../../test-database/src/watchdog.js';
import { BrokerUnavailable, type TestBroker } from './broker-process.js';

const USUAL_URL = 'redis://127.0.0.1:6379';
const START_LIMIT_MS = 15_000;

export interface RedisServerOptions {
  readonly password?: string;
  /** More of its command line, such as `{ 'maxmemory-policy': 'allkeys-lru' }`. */
  readonly config?: Readonly<Record<string, string>>;
}

/** A client for tests, to look at what a publisher did. */
export type RedisClient = ReturnType<typeof newClient>;

/** REDIS_URL, or the usual address, if a server answers there. */
export async function findRedis(url = process.env.REDIS_URL ?? USUAL_URL): Promise<string> {
  const { hostname, port } = new URL(url);
  if (await answers(hostname, Number(port || 6379))) return url;
  if (process.env.REDIS_URL) throw new Error('nothing answers at REDIS_URL');
  throw new BrokerUnavailable('no Redis to run on');
}

/** Whether `startRedis` works here. Tests skip with `no Redis to run on`. */
export function hasRedisServer(): boolean {
  return program() !== undefined;
}

export async function connectRedis(
  { host, port }: Pick<TestBroker, 'host' | 'port'>,
  { password }: RedisServerOptions = {},
): Promise<RedisClient> {
  const client = newClient(host, port, password);
  // It connects again after a restart.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Starts a private server on a free port that writes everything to its disk, in a temporary folder. */
export async function startRedis(options: RedisServerOptions = {}): Promise<TestBroker> {
  const file = program();
  if (file === undefined) throw new BrokerUnavailable('no Redis to run on');
  const folder = await mkdtemp(join(tmpdir(), 'postcommit-redis-'));
  const server = new RedisServer(file, folder, await freePort(), options);
  try {
    await server.start();
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

class RedisServer implements TestBroker {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly #file: string;
  readonly #args: readonly string[];
  readonly #watchdog: Watchdog;
  #ended: Promise<string> | undefined;

  constructor(file: string, folder: string, port: number, { password, config = {} }: RedisServerOptions) {
    this.port = port;
    this.#file = file;
    const settings = {
      bind: this.host,
      port: String(port),
      dir: folder,
      save: '',
      appendonly: 'yes',
      appendfsync: 'always',
      ...(password !== undefined && { requirepass: password }),
      ...config,
    };
    this.#args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    this.#watchdog = new Watchdog(folder, join(folder, 'log'));
  }

  async start(): Promise<void> {
    this.#watchdog.keepAlive(true);
    const ended = this.#watchdog.run({ file: this.#file, args: this.#args });
    this.#ended = ended;
    const deadline = performance.now() + START_LIMIT_MS;
    let how: string | undefined;
    void ended.then((end) => {
      how = end;
    });
    while (!(await answers(this.host, this.port))) {
      if (how !== undefined) throw new Error(`redis-server ended at once: ${how}`);
      if (performance.now() > deadline) throw new Error('redis-server did not start');
      await delay(10);
    }
    this.#watchdog.keepAlive(false);
  }

  async kill(): Promise<void> {
    this.#watchdog.keepAlive(true);
    this.#watchdog.kill('SIGKILL');
    await this.#ended;
  }

  close(): Promise<void> {
    return this.#watchdog.end();
  }
}

function newClient(host: string, port: number, password: string | undefined) {
  const socket = { host, port, reconnectStrategy: 50 };
  return createClient({ socket, RESP: 2, ...(password !== undefined && { password }) });
}

function program(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, 'redis-server')).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('no port is free');
  return address.port;
}

/** Whether a server that has read its data answers a PING, if only that it wants a password. */
function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket({ host, port }, () => socket.write('PING\r\n'));
    const end = (does: boolean): void => {
      socket.destroy();
      resolve(does);
    };
    socket.setTimeout(2_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.once('data', (data) => end(/^(\+PONG|-NOAUTH)/.test(data.toString())));
  });
}

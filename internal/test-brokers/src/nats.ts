import { randomUUID } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect as connectSocket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Watchdog } from '../../test-database/src/watchdog.js';
import { BrokerUnavailable, type TestBroker } from './broker-process.js';

const USUAL_URL = 'nats://127.0.0.1:4222';
const START_LIMIT_MS = 15_000;

export interface NatsServerOptions {
  readonly user?: string;
  readonly pass?: string;
  /** @default true */
  readonly jetstream?: boolean;
  /** More of its configuration file. */
  readonly config?: string;
}

/** NATS_URL, or the usual address, if a server answers there. */
export async function findNats(url = process.env.NATS_URL ?? USUAL_URL): Promise<string> {
  const { hostname, port } = new URL(url);
  if (await answers(hostname, Number(port || 4222))) return url;
  if (process.env.NATS_URL) throw new Error('nothing answers at NATS_URL');
  throw new BrokerUnavailable('no NATS to run on');
}

/** Whether `startNats` works here. Tests skip with `no NATS to run on`. */
export function hasNatsServer(): boolean {
  return program() !== undefined;
}

/** A connection for tests, to look at what a publisher did. */
export function connectNats(
  { host, port }: Pick<TestBroker, 'host' | 'port'>,
  options: NatsServerOptions = {},
): Promise<NatsConnection> {
  const { user, pass } = options;
  return connect({
    servers: `${host}:${port}`,
    ...(user !== undefined && { user }),
    ...(pass !== undefined && { pass }),
  });
}

/** Starts a private server on a free port, with its data in a temporary folder. */
export async function startNats(options: NatsServerOptions = {}): Promise<TestBroker> {
  const file = program();
  if (file === undefined) throw new BrokerUnavailable('no NATS to run on');
  const folder = await mkdtemp(join(tmpdir(), 'postcommit-nats-'));
  const server = new NatsServer(file, folder, await freePort(), options);
  try {
    await server.start();
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

class NatsServer implements TestBroker {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly #file: string;
  readonly #args: readonly string[];
  readonly #config: string;
  readonly #folder: string;
  readonly #watchdog: Watchdog;
  #ended: Promise<string> | undefined;

  constructor(file: string, folder: string, port: number, options: NatsServerOptions) {
    const { user, pass, jetstream = true, config = '' } = options;
    this.port = port;
    this.#file = file;
    this.#folder = folder;
    this.#config = config;
    this.#args = [
      ...['-a', this.host, '-p', String(port)],
      ...(jetstream ? ['-js', '-sd', join(folder, 'data')] : []),
      ...(user === undefined ? [] : ['--user', user]),
      ...(pass === undefined ? [] : ['--pass', pass]),
    ];
    this.#watchdog = new Watchdog(folder, join(folder, 'log'));
  }

  async start(): Promise<void> {
    const args = this.#config === '' ? this.#args : [...this.#args, '-c', await this.#configFile()];
    this.#watchdog.keepAlive(true);
    const ended = this.#watchdog.run({ file: this.#file, args });
    this.#ended = ended;
    const deadline = performance.now() + START_LIMIT_MS;
    let how: string | undefined;
    void ended.then((end) => {
      how = end;
    });
    while (!(await answers(this.host, this.port))) {
      if (how !== undefined) throw new Error(`nats-server ended at once: ${how}`);
      if (performance.now() > deadline) throw new Error('nats-server did not start');
      await delay(20);
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

  async #configFile(): Promise<string> {
    const path = join(this.#folder, `${randomUUID()}.conf`);
    await writeFile(path, this.#config);
    return path;
  }
}

function program(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, 'nats-server')).find(isExecutable);
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

/** A server says INFO to whoever connects. */
function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket({ host, port });
    const end = (does: boolean): void => {
      socket.destroy();
      resolve(does);
    };
    socket.setTimeout(2_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('data', (data) => end(data.toString().startsWith('INFO ')));
  });
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connect } from 'amqplib';
import { BrokerUnavailable, type TestBroker } from './broker-process.js';

/** Where a RabbitMQ usually listens. */
const USUAL_URL = 'amqp://guest:guest@127.0.0.1:5672';
const CONNECT_MS = 2_000;
const START_MS = 90_000;
const POLL_MS = 100;
/** Not the script on the path: as root, that one changes to a user who can't read our folder. */
const BIN = '/usr/lib/rabbitmq/bin';

/** Runs beside the server, and cleans up when its input ends: when the broker is closed, or its test process has died. */
const GUARD = `
trap '' INT TERM HUP
epmd -port "$ERL_EPMD_PORT" -address 127.0.0.1 &
epmd=$!
cat > /dev/null
[ -f "$FOLDER/server.pid" ] && kill -s KILL -- "-$(cat "$FOLDER/server.pid")"
kill -s KILL "$epmd"
sleep 0.2
rm -rf "$FOLDER"
`;

/** A private RabbitMQ. */
export interface TestRabbitmq extends TestBroker {
  /** With its user, whose password appears nowhere else. */
  readonly url: string;
  readonly password: string;
  /** With its data; removed by `close`. */
  readonly folder: string;
  /** Runs a command of `rabbitmqctl`. Takes seconds. */
  control(...command: readonly string[]): Promise<void>;
}

export interface RabbitmqSettings {
  /** Lines of `rabbitmq.conf`. */
  readonly config?: readonly string[];
}

/** RABBITMQ_URL, which must then answer, or the usual one if it does; undefined where there is none. */
export async function findRabbitmq(given = process.env.RABBITMQ_URL): Promise<string | undefined> {
  if (given) {
    await knock(given);
    return given;
  }
  return knock(USUAL_URL).then(
    () => USUAL_URL,
    () => undefined,
  );
}

/** Whether `startRabbitmq` works here. Tests skip with `no RabbitMQ to run on`. */
export function hasRabbitmqServer(): boolean {
  return existsSync(join(BIN, 'rabbitmq-server'));
}

/** @throws BrokerUnavailable where it is not installed. */
export async function startRabbitmq(settings: RabbitmqSettings = {}): Promise<TestRabbitmq> {
  if (!hasRabbitmqServer()) throw new BrokerUnavailable('no RabbitMQ to run on');
  const folder = await mkdtemp(join(tmpdir(), 'postcommit-rabbitmq-'));
  const [port, distributionPort, epmdPort] = await freePorts(3);
  const broker = new PrivateRabbitmq(folder, { port, distributionPort, epmdPort });
  await broker.prepare(settings);
  try {
    await broker.start();
  } catch (error) {
    await broker.close();
    throw error;
  }
  return broker;
}

interface Ports {
  readonly port: number;
  readonly distributionPort: number;
  readonly epmdPort: number;
}

class PrivateRabbitmq implements TestRabbitmq {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly password: string;
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #guard: ChildProcess;
  #server: ChildProcess | undefined;
  #serverEnded: Promise<unknown> = Promise.resolve();

  constructor(folder: string, { port, distributionPort, epmdPort }: Ports) {
    this.port = port;
    this.password = `secret-of-${port}`;
    this.folder = folder;
    this.#environment = {
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
      FOLDER: folder,
      HOME: folder,
      ERL_EPMD_PORT: String(epmdPort),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
      RABBITMQ_NODENAME: `postcommit-${port}@localhost`,
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(distributionPort),
      RABBITMQ_MNESIA_BASE: join(folder, 'data'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_PID_FILE: join(folder, 'rabbitmq.pid'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1 +A 4 +sbwt none',
    };
    this.#guard = spawn('sh', ['-c', GUARD], {
      cwd: '/',
      detached: true,
      env: this.#environment,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#guard.unref();
  }

  get url(): string {
    return `amqp://app:${this.password}@${this.host}:${this.port}`;
  }

  async prepare({ config = [] }: RabbitmqSettings): Promise<void> {
    const lines = [
      'default_user = app',
      `default_pass = ${this.password}`,
      'log.file.level = warning',
      ...config,
    ];
    await writeFile(join(this.folder, 'rabbitmq.conf'), `${lines.join('\n')}\n`);
    await writeFile(join(this.folder, 'enabled_plugins'), '[].\n');
  }

  async start(): Promise<void> {
    const server = spawn(join(BIN, 'rabbitmq-server'), {
      cwd: this.folder,
      // A group of its own: the script and the Erlang machine are killed together.
      detached: true,
      env: this.#environment,
      stdio: 'ignore',
    });
    this.#server = server;
    this.#serverEnded = new Promise((resolve) => {
      server.once('exit', resolve);
      server.once('error', resolve);
    });
    await writeFile(join(this.folder, 'server.pid'), String(server.pid));
    await this.#accepts();
    server.unref();
  }

  async kill(): Promise<void> {
    const pid = this.#server?.pid;
    if (pid !== undefined && this.#server?.exitCode === null && this.#server.signalCode === null) {
      this.#server.ref();
      process.kill(-pid, 'SIGKILL');
    }
    await this.#serverEnded;
    await until('its port is free', async () => !(await isListening(this.port)));
  }

  async control(...command: readonly string[]): Promise<void> {
    const env = this.#environment;
    const node = String(env.RABBITMQ_NODENAME);
    await promisify(execFile)(join(BIN, 'rabbitmqctl'), ['-n', node, ...command], { env });
  }

  async close(): Promise<void> {
    await this.kill();
    const ended = new Promise((resolve) => this.#guard.once('exit', resolve));
    this.#guard.ref();
    this.#guard.stdin?.end();
    await ended;
  }

  async #accepts(): Promise<void> {
    await until(`RabbitMQ on port ${this.port} answers`, async () => {
      if (this.#server?.exitCode !== null)
        throw new Error(`RabbitMQ ended with code ${this.#server?.exitCode}`);
      return knock(this.url).then(
        () => true,
        () => false,
      );
    });
  }
}

async function knock(url: string): Promise<void> {
  const connection = await connect(url, { timeout: CONNECT_MS });
  connection.on('error', () => {});
  await connection.close();
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`waited for ${START_MS} ms until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function isListening(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(true));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(false)));
  });
}

async function freePorts(count: number): Promise<[number, number, number]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  const [first = 0, second = 0, third = 0] = ports;
  return [first, second, third];
}

import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, canReach, serverAccount } from './account.js';
import type { PostgresOptions, PostgresServer } from './postgres.js';
import { nativeFiles } from './postgres-package.js';
import { Watchdog } from './watchdog.js';

/** What only tests choose. */
export interface LaunchInternals {
  readonly packageFolder: string;
  readonly pickPort?: () => Promise<number>;
}

const PORT_ATTEMPTS = 10;
const READY_WITHIN_MS = 60_000;
const POLL_MS = 10;
const RESTART_ATTEMPTS = 25;
const RESTART_PAUSE_MS = 200;
const LOG_TAIL_CHARACTERS = 2_000;
/** macOS allows 103 bytes, Linux 107. */
const SOCKET_PATH_BYTES = 103;

export async function launchPostgres(
  options: PostgresOptions,
  internals: LaunchInternals,
): Promise<PostgresServer> {
  const account = serverAccount();
  const folder = join(temporaryFolder(account), `postcommit-postgres-${randomBytes(8).toString('hex')}`);
  const cluster = new Cluster(folder, account, options);
  try {
    await cluster.create(internals.packageFolder);
    await cluster.startOnFreePort(internals.pickPort ?? freePort);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

class Cluster implements PostgresServer {
  readonly #folder: string;
  readonly #account: Account | undefined;
  readonly #options: PostgresOptions;
  readonly #watchdog: Watchdog;
  #native = '';
  #port = 0;
  #pid = 0;
  #ended: Promise<string> = Promise.resolve('');
  #stopped: Promise<void> | undefined;

  constructor(folder: string, account: Account | undefined, options: PostgresOptions) {
    this.#folder = folder;
    this.#account = account;
    this.#options = options;
    // Before the folder exists: there is no moment at which our death would leave it behind.
    this.#watchdog = new Watchdog(folder, this.#logFile);
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }

  get pid(): number {
    return this.#pid;
  }

  async stop(): Promise<void> {
    this.#stopped ??= this.#watchdog.end();
    await this.#stopped;
  }

  async restart(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    if (this.#stopped !== undefined) throw new Error('This PostgreSQL was stopped: start a new one.');
    this.#watchdog.keepAlive(true);
    this.#watchdog.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await this.#ended;
    // After the postmaster was killed, its last backends hold the shared memory for a moment.
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#start();
      if (failure === undefined) return;
      if (attempt === RESTART_ATTEMPTS || this.#stopped !== undefined) throw new Error(failure);
      await sleep(RESTART_PAUSE_MS);
    }
  }

  async create(packageFolder: string): Promise<void> {
    mkdirSync(this.#folder, { mode: 0o700 });
    if (this.#account !== undefined) chownSync(this.#folder, this.#account.uid, this.#account.gid);
    this.#native = await nativeFiles(packageFolder, this.#account, join(this.#folder, 'native'));
    const flags = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'];
    const args = [`--pgdata=${this.#data}`, ...flags];
    const how = await this.#watchdog.run({ file: this.#binary('initdb'), args, ...this.#account });
    if (how !== 'exit code 0') throw new Error(this.#failure('initdb', how));
  }

  async startOnFreePort(pickPort: () => Promise<number>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.#port = await pickPort();
      const failure = await this.#start();
      if (failure === undefined) return;
      // Somebody may take the port between our asking and PostgreSQL's binding.
      const isPortTaken = failure.includes('could not create any TCP/IP sockets');
      if (!isPortTaken || attempt === PORT_ATTEMPTS) throw new Error(failure);
    }
  }

  /** Undefined when it accepts connections, else why not. */
  async #start(): Promise<string | undefined> {
    this.#watchdog.keepAlive(true);
    this.#pid = 0;
    let failure: string | undefined;
    const command = { file: this.#binary('postgres'), args: this.#serverArguments(), ...this.#account };
    this.#ended = this.#watchdog.run(command, (pid) => {
      this.#pid = pid;
    });
    void this.#ended.then((how) => {
      failure = this.#failure('postgres', how);
    });
    const deadline = Date.now() + READY_WITHIN_MS;
    while (failure === undefined && !this.#isReady()) {
      if (Date.now() > deadline) return this.#failure('postgres', `not ready within ${READY_WITHIN_MS} ms`);
      await sleep(POLL_MS);
    }
    if (failure === undefined) this.#watchdog.keepAlive(false);
    return failure;
  }

  /** As pg_ctl does: the postmaster writes its state into line 8. A killed one may have left an old file: hence the pid. */
  #isReady(): boolean {
    const lines = readIfPresent(join(this.#data, 'postmaster.pid')).split('\n');
    return Number(lines[0]) === this.#pid && lines[7]?.trim() === 'ready';
  }

  #serverArguments(): string[] {
    const socket = join(this.#folder, `.s.PGSQL.${this.#port}`);
    const settings: Record<string, string> = {
      listen_addresses: '127.0.0.1',
      port: String(this.#port),
      // In a temporary folder with a long name there is no room for a socket: TCP alone will do.
      unix_socket_directories: Buffer.byteLength(socket) <= SOCKET_PATH_BYTES ? this.#folder : '',
      max_connections: '200',
      timezone: 'UTC',
      log_timezone: 'UTC',
      wal_level: 'logical',
      // In the data folder, not in /dev/shm: it goes with the folder, and containers have little of the other.
      dynamic_shared_memory_type: 'mmap',
      // The crash of a process loses nothing by these two, only that of the machine does. synchronous_commit stays on:
      // without it a commit that was acknowledged could be missing after restart('immediate').
      ...(this.#options.durable ? {} : { fsync: 'off', full_page_writes: 'off' }),
      ...this.#options.settings,
    };
    return [
      '-D',
      this.#data,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ];
  }

  #failure(program: string, how: string): string {
    const log = readIfPresent(this.#logFile).slice(-LOG_TAIL_CHARACTERS).trim();
    return `The embedded PostgreSQL did not start (${program}: ${how}).\n${log}`;
  }

  #binary(name: string): string {
    return join(this.#native, 'bin', name);
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  get #logFile(): string {
    return join(this.#folder, 'postgres.log');
  }
}

/** TMPDIR may point into a folder that the server's account can't enter. */
function temporaryFolder(account: Account | undefined): string {
  return account === undefined || canReach(account, tmpdir()) ? tmpdir() : '/tmp';
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

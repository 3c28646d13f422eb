import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  composeModules,
  type OutboxApp,
  OutboxModule,
  OutboxSchema,
  type TransactionalOutboxStore,
} from '@postcommit/core';
import pg from '../../internal/test-database/src/pg.js';
import { check, type Rules, type Verdict } from './check.js';
import { readHistory } from './history.js';
import { Ledger } from './ledger.js';
import type { ChildConfig } from './messages.js';
import { OwnerWatch } from './owner-watch.js';
import { ChaosProcess } from './process.js';
import { type Order, Producer } from './producer.js';
import type { Servers } from './servers.js';
import { pgSubject, type StoreName, type Subject } from './subject.js';
import { WireProxy } from './wire-proxy.js';

export type Form = 'short' | 'long';

export interface ArenaOptions {
  readonly form: Form;
  readonly seed: number;
  /** Undefined: a database on the shared server. Else a server of its own, with these settings. */
  readonly serverSettings?: Record<string, string>;
  readonly store: StoreName;
  /** False: the scenario creates the tables itself. */
  readonly hasTables: boolean;
}

export interface Session {
  query(text: string, values?: unknown[]): Promise<unknown>;
  end(): Promise<void>;
}

export type ChildOptions = Partial<Omit<ChildConfig, 'ledgerUrl' | 'store'>>;

/** Short, so that a run is: where a scenario waits for a claim to expire. */
export const SHORT_CLAIM_MS = 1_500;
/** Where nothing is to expire, also on a machine that stalls. */
export const LONG_CLAIM_MS = 30_000;
const POLL_MS = 25;
/** Only for what hangs. */
const PATIENCE_MS = 90_000;

/** One run of one scenario: its two databases, its processes, and what is noted on the way. */
export class Arena {
  readonly options: ArenaOptions;
  readonly servers: Servers;
  readonly url: string;
  readonly ledger: Ledger;
  readonly server: Awaited<ReturnType<Servers['own']>> | undefined;
  /** What the scenario itself found wrong. */
  readonly broken: string[] = [];
  /** May be changed by the scenario while it runs. */
  rules: Rules = {};
  /** From the end of a fault until nothing was pending any more: the longest, if there was one. */
  recoveryMs: number | undefined;
  readonly #ledgerUrl: string;
  readonly #processes: ChaosProcess[] = [];
  readonly #subject: Subject;
  readonly #owners: OwnerWatch;
  readonly #closing: (() => Promise<unknown>)[] = [];
  /** Kept, since a pool only reports to stores that somebody keeps. */
  readonly #stores: TransactionalOutboxStore<never>[] = [];
  /** Of its database, and of its schema in the ledger. */
  readonly #name: string;
  #started = 0;
  #calmSinceMs: number | undefined;

  static async open(servers: Servers, options: ArenaOptions): Promise<Arena> {
    const name = `chaos_${randomBytes(6).toString('hex')}`;
    const server = options.serverSettings && (await servers.own(options.serverSettings));
    const ledgerUrl = await servers.createLedger(name);
    const url = await servers.createDatabase((server ?? servers.shared).url, name);
    const arena = new Arena(servers, options, name, url, ledgerUrl, server);
    await arena.ledger.create();
    await arena.query('create table orders (id text primary key, key text)');
    if (options.hasTables) await arena.ensureTables();
    arena.#owners.start();
    return arena;
  }

  private constructor(
    servers: Servers,
    options: ArenaOptions,
    name: string,
    url: string,
    ledgerUrl: string,
    server: Arena['server'],
  ) {
    this.servers = servers;
    this.options = options;
    this.url = url;
    this.server = server;
    this.#ledgerUrl = ledgerUrl;
    this.#name = name;
    this.ledger = new Ledger(ledgerUrl);
    this.#subject = pgSubject({ url });
    this.#owners = new OwnerWatch((text) => this.#subject.query(text));
  }

  get isShort(): boolean {
    return this.options.form === 'short';
  }

  async ensureTables(): Promise<void> {
    const app = composeModules([OutboxModule.forRoot({ worker: false }), this.#subject.module]);
    await app.get(OutboxSchema).ensure();
    this.#storeIn(app, this.#subject);
  }

  /** On the business database, past every proxy; tried again while the server is away. */
  async query<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return (await this.#subject.query(text, values)) as T[];
      } catch (error) {
        if (!isServerAway(error) || performance.now() > deadline) throw error;
        await pause(POLL_MS);
      }
    }
  }

  /** A session of the scenario's own, for locks and open transactions. */
  async session(name = 'scenario'): Promise<Session> {
    const client = new pg.Client({ connectionString: this.url, application_name: name });
    client.on('error', () => {});
    this.#closing.push(() => client.end().catch(() => {}));
    await client.connect();
    return client;
  }

  /** Between whoever uses its url and the business database. */
  async proxy(): Promise<WireProxy> {
    const proxy = await WireProxy.open(this.url);
    this.#closing.push(() => proxy.close());
    return proxy;
  }

  /** Connections of an application of its own, through a proxy for one. */
  subject(url: string): Subject {
    const subject = pgSubject({ url });
    this.#closing.push(() => subject.close());
    return subject;
  }

  /** Starts a process and waits until it works. */
  async start(options: ChildOptions = {}): Promise<ChaosProcess> {
    const child = this.launch(options);
    await child.ready();
    return child;
  }

  launch(options: ChildOptions = {}): ChaosProcess {
    this.#started += 1;
    const role = options.role ?? 'worker';
    const child = new ChaosProcess(this.servers.program, {
      role,
      name: `${role}-${this.#started}`,
      databaseUrl: this.url,
      ledgerUrl: this.#ledgerUrl,
      store: this.options.store,
      claimTimeoutMs: SHORT_CLAIM_MS,
      behaviour: { kind: 'deliver' },
      ...options,
      settings: { pollIntervalMs: 100, publishTimeoutMs: 800, ...options.settings },
    });
    this.#processes.push(child);
    return child;
  }

  /** A producer in this very process, where the scenario is not about its death. */
  producer(name = 'producer', subject: Subject = this.#subject): Producer {
    const app = composeModules([OutboxModule.forRoot({ worker: false }), subject.module]);
    return new Producer(name, subject, this.#storeIn(app, subject), this.ledger);
  }

  /** One transaction each, keys in turn. */
  async produce(count: number, keys?: readonly (string | undefined)[], name?: string): Promise<void> {
    await this.producer(name).produceMany(count, keys);
  }

  /** All in one transaction. */
  async produceAtOnce(orders: readonly Order[]): Promise<void> {
    const producer = this.producer();
    const result = await producer.produce(...orders);
    if (result === 'committed') return;
    throw new Error(`${orders.length} orders were not committed but ${result}`, { cause: producer.failure });
  }

  /** Notes what it does as a fault that hit this process, or all of them. Recovery is counted from its end. */
  async fault(what: string, process: ChaosProcess | undefined, work: () => Promise<void>): Promise<void> {
    const ended = await this.ledger.faultBegan(what, process?.name ?? null);
    this.#calmSinceMs = undefined;
    try {
      await work();
    } finally {
      await ended();
      this.calm();
    }
  }

  /** From here on nothing is wrong: recovery is counted from now. */
  calm(): void {
    this.#calmSinceMs = performance.now();
  }

  /** SIGKILL. */
  async kill(process: ChaosProcess): Promise<void> {
    await this.fault('SIGKILL', process, () => process.kill());
  }

  /** Until no row is pending any more. */
  async drained(): Promise<void> {
    const isDrained = await this.eventually(async () => (await this.pending()) === 0);
    if (!isDrained)
      this.broken.push(`I7: ${await this.pending()} rows are still pending after ${PATIENCE_MS} ms`);
    if (this.#calmSinceMs === undefined) return;
    this.recoveryMs = Math.max(this.recoveryMs ?? 0, performance.now() - this.#calmSinceMs);
  }

  async pending(): Promise<number> {
    const [found] = await this.query<{ pending: number }>(
      'select count(*)::int as pending from outbox where dispatched_at is null and dead_at is null',
    );
    return found?.pending ?? 0;
  }

  async delivered(): Promise<number> {
    const [found] = await this.ledger.query<{ delivered: number }>(
      `select count(distinct "rowId")::int as delivered from publishes where outcome <> 'failed'`,
    );
    return found?.delivered ?? 0;
  }

  /** Whether it comes true before patience ends. */
  async eventually(isTrue: () => Promise<boolean>): Promise<boolean> {
    for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; ) {
      if (await isTrue()) return true;
      await pause(POLL_MS);
    }
    return false;
  }

  /** The same, for processes that a scenario can't continue without. */
  async until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    if (!(await this.eventually(isTrue))) throw new Error(`it never came true: ${what}`);
  }

  expect(isTrue: boolean, otherwise: string): void {
    if (!isTrue) this.broken.push(otherwise);
  }

  get hasTwoOwners(): boolean {
    return this.#owners.found.length > 0;
  }

  async judge(): Promise<Verdict> {
    const verdict = check(await readHistory((text) => this.query(text), this.ledger), this.rules);
    const crashed = this.#processes.filter(
      ({ isAlive, exitCode }) => !isAlive && exitCode !== null && exitCode !== 0,
    );
    return {
      ...verdict,
      broken: [
        ...verdict.broken,
        ...this.broken,
        ...this.#owners.found,
        ...crashed.map(({ name, exitCode, output }) => `${name} ended with ${exitCode}:\n${output}`),
      ],
    };
  }

  async close(): Promise<void> {
    await this.#owners.stop();
    await Promise.all(this.#processes.map((process) => process.end()));
    for (const close of this.#closing) await close();
    await this.#subject.close();
    await this.ledger.close();
    await this.servers.dropLedger(this.#name);
    if (this.server) await this.server.stop();
    else await this.servers.dropDatabase(this.#name);
  }

  /** Listens to the problems of the store: each connection that a fault cuts would be a warning of this process. */
  #storeIn(app: OutboxApp, { storeToken }: Subject): TransactionalOutboxStore<never> {
    const store = app.get(storeToken);
    store.onProblem(() => {});
    this.#stores.push(store);
    return store;
  }
}

/** No connection, or one that was cut off: SQLSTATE classes 08, 57 and 53, or an error of the socket. */
function isServerAway(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return (
    /^(08|57|53)/.test(code ?? '') ||
    /^E[A-Z]+$/.test(code ?? '') ||
    /terminated|timeout/i.test(message ?? '')
  );
}

import type pg from 'pg';
import type { WalLevel } from './place.js';

/** Where a subject runs: a database of its own on a server with fsync and synchronous_commit on. */
export interface Place {
  /** The database's name; no two places share one. */
  readonly name: string;
  readonly url: string;
  readonly pool: pg.Pool;
}

/** Pending rows: how many, and the key of each. Their orders are numbered from `firstOrder`. */
export interface Workload {
  readonly rows: number;
  readonly keyOf?: (index: number) => string | undefined;
  readonly firstOrder?: number;
}

/** Told of every message that is published, by the numbers of their orders. */
export type Report = (orders: readonly number[]) => void;

export interface Consumer {
  /** Nothing more is published after it. */
  stop(): Promise<void>;
}

/** Something that is measured. */
export interface Subject {
  /** Used by `--subjects`, and to start a process for this subject. */
  readonly id: string;
  /** For the tables. */
  readonly name: string;
  /** How it was set up, for the reader. */
  readonly settings: string;
  readonly isOurs?: boolean;
  /** Nobody's product: what the statements themselves allow. */
  readonly isLimit?: boolean;
  /** Set up as no other is: shown, but not what others are held against. */
  readonly isApart?: boolean;
  /** Why it can't run on this machine; undefined where it can. */
  absent?(walLevel: WalLevel): Promise<string | undefined>;
  /** Makes its tables, once for each database. */
  prepare(place: Place): Promise<void>;
  /** In the benchmark's process or in one of its own. */
  open(place: Place): Promise<OpenSubject>;
  /** In words, what it can't do and therefore leaves out below. */
  readonly cannot?: Partial<Record<Ability, string>>;
}

export type Ability = Exclude<keyof OpenSubject, 'close' | 'seed' | 'left'> | 'keys' | 'secondProcess';

export interface OpenSubject {
  /** Puts pending rows into the table; not measured. */
  seed(workload: Workload): Promise<void>;
  /** How many messages are not yet settled, by the subject's own account. */
  left(): Promise<number>;
  /** Publishes what is there and what comes, until it is stopped. The publisher does nothing but report. */
  consume?(report: Report): Promise<Consumer>;
  /**
   * A business transaction: one order, and a message for each number given (none: the same transaction without).
   * Gives when COMMIT was sent, by `monotonicMs`.
   */
  transact?(orders: readonly number[]): Promise<number>;
  /** Claims a thousand rows, then settles them. Returns how long the claim alone took. */
  claim?(): Promise<{ readonly ms: number; readonly rows: number }>;
  /** Rows with a failed head for each key, which waits for an hour. */
  poisonHeads?(): Promise<void>;
  /** Puts rows into the table that are long dispatched. */
  seedDispatched?(rows: number): Promise<void>;
  /** Puts rows into the table that are due tomorrow. */
  seedLater?(rows: number): Promise<void>;
  close(): Promise<void>;
}

/** About 200 bytes of JSON. */
export function payload(order: number): Record<string, unknown> {
  return { orderId: order, customer: `customer-${order % 1000}`, note: 'x'.repeat(120), total: order * 1.25 };
}

export function orderOf(message: unknown): number {
  return (message as { orderId: number }).orderId;
}

export const BATCH_SIZE = 1_000;

/** Orders from here on are in the way of those that are counted. */
export const BESIDE = 1_000_000_000;

/** One clock for all processes of a machine. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

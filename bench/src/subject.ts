import type pg from 'pg';

/** The rows of a work-load: how many, and the key of each. */
export interface Workload {
  readonly rows: number;
  readonly keyOf?: (index: number) => string | undefined;
}

/** Where a subject runs: a database of its own on a server with fsync and synchronous_commit on. */
export interface Place {
  readonly url: string;
  readonly pool: pg.Pool;
}

/** Something that is measured. What it can't do, it leaves out. */
export interface Subject {
  readonly name: string;
  open(place: Place): Promise<OpenSubject>;
}

export interface OpenSubject {
  /** Puts pending rows into the table; not measured. */
  seed(workload: Workload): Promise<void>;
  /** Publishes all that is pending with a publisher that does nothing. Gives how many. */
  drain?(): Promise<number>;
  /** Rows with keys that are in the way: claimable, or held back by heads that failed an hour's backoff ago. */
  seedBeside?(workload: Workload, poison: boolean): Promise<void>;
  /** Dispatches until that many rows without a key are published. */
  drainUnkeyed?(rows: number): Promise<number>;
  /** Puts rows into the table that are long dispatched. */
  seedDispatched?(rows: number): Promise<void>;
  /** Puts rows into the table that are due tomorrow. */
  seedLater?(rows: number): Promise<void>;
  /** Claims one batch and leaves it claimed. Gives how many rows. */
  claim?(): Promise<number>;
  /** A business transaction (one INSERT of an order) with one message in it. */
  enqueueOne?(orderId: number): Promise<void>;
  /** Many messages in one transaction. */
  enqueueBulk?(count: number): Promise<void>;
  close(): Promise<void>;
}

/** About 200 bytes of JSON. */
export function payload(index: number): Record<string, unknown> {
  return { orderId: index, customer: `customer-${index % 1000}`, note: 'x'.repeat(120), total: index * 1.25 };
}

export const BATCH_SIZE = 1_000;

import { nameToken } from '../modules/token.js';

/** Who a running worker is. A worker that was declared lost comes back under a new id. */
export interface WorkerIdentity {
  /** Claim tokens of this worker begin with it; see `workerToken`. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** Others may take its claims over after they have not heard of it for this long. */
  readonly takeoverMs: number;
}

/** A destination that a worker finds away. */
export interface WorkerOutage {
  readonly destination: string;
  readonly sinceMs: number;
  readonly nextTryInMs: number;
  readonly error: string;
}

/** What a worker says about itself with every heartbeat. */
export interface WorkerReport {
  readonly rowsInFlight: number;
  /** Whether hints wake it; if not, it polls. */
  readonly isListening: boolean;
  readonly outages: readonly WorkerOutage[];
}

/** What a worker sees of another one. */
export interface WorkerSighting extends Pick<WorkerIdentity, 'id' | 'host' | 'pid' | 'takeoverMs'> {
  /** Changes with each heartbeat; compared for equality only. */
  readonly lastSeen: string;
  /** How old the heartbeat was when it was read, by the store's clock. */
  readonly ageMs: number;
  /** Declared lost, but its claims may not all be ended yet. */
  readonly isLost: boolean;
}

/** A worker for people to look at. Times are ages by the store's clock. */
export interface WorkerRecord extends WorkerIdentity, WorkerReport {
  readonly startedAgeMs: number;
  readonly lastSeenAgeMs: number;
  readonly isLost: boolean;
}

/**
 * The workers that share an outbox: they learn from each other's heartbeats who has died, and take its claims over
 * before they expire.
 */
export abstract class OutboxWorkers {
  static {
    nameToken(this, '@postcommit/core/OutboxWorkers');
  }

  abstract register(worker: WorkerIdentity, report: WorkerReport): Promise<void>;

  /** A heartbeat. Returns all other workers; undefined if this one was declared lost or its record is gone. */
  abstract beat(id: string, report: WorkerReport): Promise<readonly WorkerSighting[] | undefined>;

  /** Declares a worker lost unless it was seen since `lastSeen`. Returns whether this call did it. */
  abstract declareLost(id: string, lastSeen: string): Promise<boolean>;

  /**
   * Ends the claims of a worker that was declared lost, so that they can be retaken like expired ones, then removes its
   * record. A row that was retaken `n` times before waits `2^n - 1` times the worker's `takeoverMs` more, at most until its
   * claim expires. Does nothing for a worker that is not lost. Repeatable. Returns the number of rows.
   */
  abstract takeOver(id: string): Promise<number>;

  /** Removes the record of a worker that stopped and holds no claims. */
  abstract remove(id: string): Promise<void>;

  abstract list(): Promise<WorkerRecord[]>;
}

/** A mark that no other claim token has. */
const MARK = '.';

/** The claim token of a worker's `counter`-th claim: unique, and at most 36 characters for an id of up to 24. */
export function workerToken(workerId: string, counter: number): string {
  return `${workerId}${MARK}${counter.toString(36)}`;
}

/** The beginning that all claim tokens of a worker share. */
export function tokenPrefix(workerId: string): string {
  return `${workerId}${MARK}`;
}

/** The worker that a claim token names; undefined for one that did not register. */
export function workerOf(token: string): string | undefined {
  const end = token.indexOf(MARK);
  return end === -1 ? undefined : token.slice(0, end);
}

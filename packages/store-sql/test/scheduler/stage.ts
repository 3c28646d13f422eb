import type { SqlFixture } from '../sql-fixture.js';
import type { SqlSession } from '../sql-session.js';
import type { Audited } from './history.js';

/** What a run says to its database in the test's own words. */
export interface Stage {
  readonly fixture: SqlFixture;
  /** Producers do not insert while a requeue is open, since here they would wait for it. */
  readonly producersWaitForRequeue: boolean;
  /** A table of every update of a row, and the trigger that fills it. */
  prepare(): Promise<void>;
  /** No rows, no updates. */
  clear(): Promise<void>;
  /** Whose the updates of this session are, from now on. */
  nameActor(session: SqlSession, actor: string): Promise<void>;
  /** Rows for later fall due, except those that somebody has locked. */
  timePasses(): Promise<void>;
  /** The claim on this row expires, or every claim; not on rows that somebody has locked. Gives those that did. */
  expire(id: string | undefined): Promise<Expired[]>;
  /** What was committed since the last time. */
  takeAudit(): Promise<Audited[]>;
  keysWithTwoOwners(): Promise<string[]>;
  stored(): Promise<Stored[]>;
}

export interface Expired {
  readonly id: string;
  readonly token: string;
}

export interface Stored {
  readonly id: string;
  readonly dispatched: boolean;
  readonly dead: boolean;
}

import type { BackoffOptions } from '@postcommit/core';
import type { StoreName } from './subject.js';

/** What the publisher of a worker does with a row whose payload does not say otherwise. */
export type Behaviour =
  | { readonly kind: 'deliver' }
  /** Each publish takes this long; its effect comes at the end, unless it was aborted. */
  | { readonly kind: 'deliver slowly'; readonly ms: number }
  /** `thrown` names one of the values in `ledger-publisher.ts`. */
  | { readonly kind: 'fail'; readonly thrown?: string }
  /** `obeys`: ends when its signal aborts. Else it ends when the behaviour changes. */
  | { readonly kind: 'hang'; readonly obeys: boolean; readonly delivers: boolean }
  /** Delivers and then throws, as a client does whose answer timed out. */
  | { readonly kind: 'deliver, then fail' }
  /** Sends to the broker at this port. */
  | { readonly kind: 'send'; readonly port: number }
  /** Takes rows in batches and fails the one at this place, from 0, once. */
  | { readonly kind: 'batch'; readonly failAt?: number };

/** What `OutboxModule.forRoot` is given, as data. */
export interface WorkerSettings {
  readonly batchSize?: number;
  readonly concurrency?: number;
  readonly maxAttempts?: number;
  readonly maxRetakes?: number;
  readonly publishTimeoutMs?: number;
  readonly pollIntervalMs?: number;
  readonly takeoverAfterMs?: number;
  readonly backoff?: BackoffOptions;
}

/** How a process is started. It reads this from its environment. */
export interface ChildConfig {
  readonly role: 'worker' | 'producer' | 'migrator' | 'sweeper';
  /** Names it in the ledger. */
  readonly name: string;
  readonly databaseUrl: string;
  /** Where a worker on `pg` listens. Default: as its pool connects. */
  readonly listenUrl?: string;
  readonly ledgerUrl: string;
  readonly store: StoreName;
  readonly claimTimeoutMs: number;
  readonly settings: WorkerSettings;
  readonly poolSize?: number;
  readonly connectTimeoutMs?: number;
  readonly behaviour: Behaviour;
  /** Publishes rows in batches. */
  readonly batches?: boolean;
  /** Stops there once, and waits to be released. */
  readonly stopAt?: string;
  /** Stops before the n-th statement, from 1, that matches. */
  readonly stopAtStatement?: { readonly pattern: string; readonly nth: number };
  /** Creates or fixes the tables before anything else. */
  readonly ensures?: boolean;
  /** By how much its clock is wrong. */
  readonly clockShiftMs?: number;
  /** A defect on purpose, to prove that the checker sees it. */
  readonly defect?: 'settles before it publishes' | 'overtakes';
}

export type Command =
  | { readonly do: 'go on' }
  | { readonly do: 'behave'; readonly behaviour: Behaviour }
  | { readonly do: 'hold the pool' }
  | { readonly do: 'free the pool' }
  | { readonly do: 'shift the clock'; readonly ms: number }
  | { readonly do: 'produce'; readonly count: number; readonly keys: readonly (string | undefined)[] }
  | { readonly do: 'stop' };

export type Told =
  | { readonly tell: 'ready' }
  | { readonly tell: 'at'; readonly point: string }
  | { readonly tell: 'done'; readonly what: Command['do'] }
  | {
      readonly tell: 'signal';
      readonly signal: string;
      readonly ids: readonly string[];
      readonly text: string;
    }
  | { readonly tell: 'stopped'; readonly abandoned: readonly string[] };

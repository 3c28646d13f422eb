import type { Standing } from '../dispatch/claim-lease.js';
import type { ClaimedBatch } from '../dispatch/claimed-batch.js';
import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { LookAhead } from '../store/look-ahead.js';
import type { HintTime } from './claim-pace.js';

/** Everything that can happen during a run. */
export type WorkerEvent =
  | { readonly kind: 'hint'; readonly time: HintTime }
  | { readonly kind: 'timer' }
  | { readonly kind: 'claimed'; readonly batch: ClaimedBatch | undefined; readonly limit: number }
  | { readonly kind: 'claimFailed'; readonly error: unknown }
  | { readonly kind: 'lookedAhead'; readonly ahead: LookAhead }
  | { readonly kind: 'lookAheadFailed'; readonly error: unknown }
  | { readonly kind: 'standingLost'; readonly standing: Standing; readonly reason: Error }
  | {
      readonly kind: 'batchEnded';
      readonly batch: ClaimedBatch;
      readonly summary: DispatchSummary | undefined;
    }
  | StopEvent
  | StopProgress;

export interface StopEvent {
  readonly kind: 'stop';
  readonly graceMs: number;
  /** Resolves when no more hints arrive. */
  readonly unsubscribed: Promise<void>;
}

/** What can happen after a stop has begun. */
export type StopProgress =
  | { readonly kind: 'unstartedReleased' }
  | { readonly kind: 'lateClaimsReleased' }
  | { readonly kind: 'graceOver' }
  | { readonly kind: 'settleGraceOver' };

import type { ClaimLease } from './claim-lease.js';
import type { Clock } from './clock.js';
import { TransientError } from './errors.js';
import type { PublishStep } from './interceptors.js';
import type { PublishContext } from './outbox-publisher.js';
import type { OutboxRow } from './outbox-row.js';
import type { PublishSlots } from './publish-slots.js';

export interface PublishBounds {
  readonly publish: PublishStep;
  readonly timeoutMs: number;
  readonly lease: ClaimLease;
  readonly slots: PublishSlots;
  readonly clock: Clock;
}

/**
 * Publishes a row and rejects, at the latest, when the time is up or the claim is lost. The slot is given back
 * when the publisher itself has ended, which may be later.
 */
export function publishBounded(row: OutboxRow, bounds: PublishBounds): Promise<void> {
  const { publish, timeoutMs, lease, slots, clock } = bounds;
  const context = new LazyPublishContext(row.attempts + 1);
  return new Promise((resolve, reject) => {
    let overdue = false;
    const giveUp = (reason: Error): void => {
      cancelTimeout();
      lease.publishEnded(row.id);
      overdue = true;
      slots.markOverdue();
      context.abort(reason);
      reject(reason);
    };
    const cancelTimeout = clock.schedule(timeoutMs, () =>
      giveUp(new TransientError(`publish took longer than ${timeoutMs} ms`)),
    );
    lease.publishStarted(row.id, giveUp);
    const ended = (): void => {
      cancelTimeout();
      lease.publishEnded(row.id);
      slots.release({ overdue });
    };
    publish(row, context).then(
      () => {
        ended();
        resolve();
      },
      (error: unknown) => {
        ended();
        reject(error);
      },
    );
  });
}

/** Most publishers never look at the signal: making it on demand halves what a publish costs us. */
class LazyPublishContext implements PublishContext {
  readonly attempt: number;
  #controller: AbortController | undefined;
  #abortedBy: Error | undefined;

  constructor(attempt: number) {
    this.attempt = attempt;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortedBy) this.#controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#abortedBy = reason;
    this.#controller?.abort(reason);
  }
}

import type { ClaimLease } from './claim-lease.js';
import type { Clock } from './clock.js';
import { TransientError } from './errors.js';
import type { PublishStep } from './interceptors.js';
import type { PublishContext } from './outbox-publisher.js';
import type { OutboxRow } from './outbox-row.js';
import type { PublishSlots } from './publish-slots.js';
import type { PublishTimeouts } from './publish-timeouts.js';

/** What bounds the publishes of one batch. */
export interface PublishBounds {
  readonly lease: ClaimLease;
  readonly timeouts: PublishTimeouts;
  readonly slots: PublishSlots;
  readonly clock: Clock;
}

/** How a publish ended; `keepsSlot` when the publisher still runs and gives the slot back itself. */
export type PublishEnd =
  | { readonly published: true; readonly keepsSlot: false }
  | { readonly published: false; readonly error: unknown; readonly keepsSlot: boolean };

/**
 * Publishes a row and ends, at the latest, when the time is up or the claim is lost. A publisher that goes on
 * after its signal aborted keeps its slot until it has ended. Never rejects.
 */
export function publishBounded(
  row: OutboxRow,
  publish: PublishStep,
  bounds: PublishBounds,
): Promise<PublishEnd> {
  const { lease, timeouts } = bounds;
  const context = new LazyPublishContext(row.attempts + 1);
  return new Promise((resolve) => {
    let straggler: Straggler | undefined;
    const giveUp = (error: Error): void => {
      timeouts.end(running);
      lease.publishEnded(row.id);
      straggler = new Straggler(bounds);
      context.abort(error);
      resolve({ published: false, error, keepsSlot: true });
    };
    const running = timeouts.start(() =>
      giveUp(new TransientError(`publish took longer than ${timeouts.timeoutMs} ms`)),
    );
    lease.publishStarted(row.id, giveUp);
    const ended = (end: PublishEnd): void => {
      if (straggler) {
        straggler.ended();
        return;
      }
      timeouts.end(running);
      lease.publishEnded(row.id);
      resolve(end);
    };
    started(publish, row, context).then(
      () => ended({ published: true, keepsSlot: false }),
      (error: unknown) => ended({ published: false, error, keepsSlot: false }),
    );
  });
}

/** What throws before it has a promise to reject fails its row and nothing else; what gives no promise is done. */
function started(publish: PublishStep, row: OutboxRow, context: PublishContext): Promise<void> {
  try {
    return Promise.resolve(publish(row, context));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A publish that was given up. One that obeys its signal ends at once; only one that does not is overdue. */
class Straggler {
  readonly #slots: PublishSlots;
  readonly #cancel: () => void;
  #overdue = false;

  constructor({ slots, clock }: PublishBounds) {
    this.#slots = slots;
    this.#cancel = clock.schedule(0, () => {
      this.#overdue = true;
      slots.markOverdue();
    });
  }

  ended(): void {
    this.#cancel();
    this.#slots.release({ overdue: this.#overdue });
  }
}

/** Most publishers never look at the signal, so it is made on demand. */
class LazyPublishContext implements PublishContext {
  readonly attempt: number;
  #controller: AbortController | undefined;
  #abortedBy: Error | undefined;

  constructor(attempt: number) {
    this.attempt = attempt;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortedBy && !this.#controller.signal.aborted) this.#controller.abort(this.#abortedBy);
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#abortedBy = reason;
    this.#controller?.abort(reason);
  }
}

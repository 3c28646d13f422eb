import { TransientError } from '../message/errors.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Clock } from '../observe/clock.js';
import type { PublishContext } from '../publish/outbox-publisher.js';
import type { PublishSlots } from '../publish/publish-slots.js';
import type { PublishTimeouts } from '../publish/publish-timeouts.js';
import type { ClaimLease } from './claim-lease.js';

/** What bounds the publishes of one batch. */
export interface PublishBounds {
  readonly lease: ClaimLease;
  readonly timeouts: PublishTimeouts;
  readonly slots: PublishSlots;
  readonly clock: Clock;
}

/** How a publish ended; `keepsSlot` when the publisher still runs and gives the slot back itself. */
export type PublishEnd<T> =
  | { readonly published: true; readonly value: T; readonly keepsSlot: false }
  | { readonly published: false; readonly error: unknown; readonly keepsSlot: boolean };

/**
 * Publishes rows in one call and ends, at the latest, when the time is up or the claim on all of them is lost. A
 * publisher that goes on after its signal aborted keeps its slot until it has ended. Never rejects.
 */
export function publishBounded<T>(
  rows: readonly [OutboxRow, ...OutboxRow[]],
  publish: (context: PublishContext) => Promise<T>,
  bounds: PublishBounds,
): Promise<PublishEnd<T>> {
  const { lease, timeouts } = bounds;
  const context = new LazyPublishContext(rows[0].attempts + 1);
  return new Promise((resolve) => {
    let straggler: Straggler | undefined;
    const giveUp = (error: Error): void => {
      timeouts.end(running);
      lease.publishEnded(rows);
      straggler = new Straggler(bounds, rows);
      context.abort(error);
      resolve({ published: false, error, keepsSlot: true });
    };
    const running = timeouts.start(() =>
      giveUp(new TransientError(`publish took longer than ${timeouts.timeoutMs} ms`)),
    );
    lease.publishStarted(rows, giveUp);
    const ended = (end: PublishEnd<T>): void => {
      if (straggler) {
        straggler.ended();
        return;
      }
      timeouts.end(running);
      lease.publishEnded(rows);
      resolve(end);
    };
    started(publish, context).then(
      (value) => ended({ published: true, value, keepsSlot: false }),
      (error: unknown) => ended({ published: false, error, keepsSlot: false }),
    );
  });
}

/** What throws before it has a promise to reject fails its rows and nothing else; what gives no promise is done. */
function started<T>(publish: (context: PublishContext) => Promise<T>, context: PublishContext): Promise<T> {
  try {
    return Promise.resolve(publish(context));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A publish that was given up. One that obeys its signal ends at once; only one that does not is overdue. */
class Straggler {
  readonly #slots: PublishSlots;
  readonly #ids: readonly string[];
  readonly #cancel: () => void;
  #overdue = false;

  constructor({ slots, clock }: PublishBounds, rows: readonly OutboxRow[]) {
    this.#slots = slots;
    this.#ids = rows.map(({ id }) => id);
    slots.stragglers.add(this.#ids);
    this.#cancel = clock.schedule(0, () => {
      this.#overdue = true;
      slots.markOverdue();
    });
  }

  ended(): void {
    this.#cancel();
    this.#slots.stragglers.delete(this.#ids);
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

import { TransientError } from '../message/errors.js';
import type { PublishContext } from '../message/publish-context.js';
import type { Clock } from '../modules/clock.js';
import type { PublishSlots } from '../publish/publish-slots.js';
import type { PublishTimeouts } from '../publish/publish-timeouts.js';
import type { ClaimLease } from './claim-lease.js';
import type { RowInFlight } from './row-in-flight.js';

/** The limits on the publishes of one batch. */
export interface PublishBounds {
  readonly lease: ClaimLease;
  readonly timeouts: PublishTimeouts;
  readonly slots: PublishSlots;
  readonly clock: Clock;
}

/** How a publish ended. `keepsSlot`: the publisher is still running, and the slot is released when it ends. */
export type PublishEnd<T> =
  | { readonly published: true; readonly value: T; readonly keepsSlot: false }
  | { readonly published: false; readonly error: unknown; readonly keepsSlot: boolean };

/**
 * Publishes rows in one call. Resolves at the latest when the publish times out or the claims on all rows are lost. A
 * publisher that keeps running after its signal aborted keeps its slot until it ends. Never rejects.
 */
export function publishBounded<T>(
  rows: readonly [RowInFlight, ...RowInFlight[]],
  publish: (context: PublishContext) => Promise<T>,
  bounds: PublishBounds,
): Promise<PublishEnd<T>> {
  const { lease, timeouts } = bounds;
  const context = new LazyPublishContext(rows[0].row.attempts + 1);
  return new Promise((resolve) => {
    let overrun: Overrun | undefined;
    const giveUp = (error: Error): void => {
      timeouts.end(running);
      lease.publishEnded(rows);
      overrun = new Overrun(bounds, rows);
      context.abort(error);
      resolve({ published: false, error, keepsSlot: true });
    };
    const running = timeouts.start(() =>
      giveUp(new TransientError(`publish took longer than ${timeouts.timeoutMs} ms`)),
    );
    lease.publishStarted(rows, giveUp);
    const end = (result: PublishEnd<T>): void => {
      if (overrun) {
        overrun.end();
        return;
      }
      timeouts.end(running);
      lease.publishEnded(rows);
      resolve(result);
    };
    call(publish, context).then(
      (value) => end({ published: true, value, keepsSlot: false }),
      (error: unknown) => end({ published: false, error, keepsSlot: false }),
    );
  });
}

/** A publisher that throws synchronously fails its own rows only. */
function call<T>(publish: (context: PublishContext) => Promise<T>, context: PublishContext): Promise<T> {
  try {
    return Promise.resolve(publish(context));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A publish that was aborted and is still running. It is overdue unless it obeys its signal at once. */
class Overrun {
  readonly #slots: PublishSlots;
  readonly #ids: readonly string[];
  readonly #cancel: () => void;
  #isOverdue = false;

  constructor({ slots, clock }: PublishBounds, rows: readonly RowInFlight[]) {
    this.#slots = slots;
    this.#ids = rows.map(({ id }) => id);
    slots.addOverrun(this.#ids);
    this.#cancel = clock.schedule(0, () => {
      this.#isOverdue = true;
      slots.markOverdue();
    });
  }

  end(): void {
    this.#cancel();
    this.#slots.removeOverrun(this.#ids);
    this.#slots.release({ overdue: this.#isOverdue });
  }
}

/** Creates the signal on demand: most publishers never read it. */
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

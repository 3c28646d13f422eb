import type { OutboxRow } from '../message/outbox-row.js';
import { intercept, type PublishLayer } from '../observe/interceptors.js';
import type { OutboxPublisher, PublishContext, PublishResult } from './outbox-publisher.js';

/** Publishes rows in one call and gives a result for each. Throwing fails them all. */
export type PublishGroup = (
  publisher: OutboxPublisher,
  rows: readonly OutboxRow[],
  context: PublishContext,
) => Promise<readonly PublishResult[]>;

/** `publishBatch`, with the interceptors of `publish` around each of its rows. */
export function publishGroupWith(layers: readonly PublishLayer[]): PublishGroup {
  if (layers.length === 0) return send;
  return async (publisher, rows, context) => {
    const gathering = new Gathering(rows.length);
    const results = rows.map((row) => {
      const place = gathering.expect(row);
      const step = intercept(layers, (final) => place.arrive(final));
      return resultOf(() => step(row, contextOf(row, context))).then((result) => {
        place.leave(result);
        return result;
      });
    });
    await gathering.sendWith((arrived) => {
      context.signal.throwIfAborted();
      return send(publisher, arrived, context);
    });
    return Promise.all(results);
  };
}

/** Own properties only, so that an interceptor can hand on `{ ...context, attempt: 9 }`. */
export function contextOf(row: OutboxRow, context: Pick<PublishContext, 'signal'>): PublishContext {
  return {
    attempt: row.attempts + 1,
    get signal() {
      return context.signal;
    },
  };
}

async function send(
  publisher: OutboxPublisher,
  rows: readonly OutboxRow[],
  context: PublishContext,
): Promise<readonly PublishResult[]> {
  const results = await publisher.publishBatch?.(rows, context);
  if (Array.isArray(results) && results.length === rows.length && Array.from(results).every(isResult))
    return results;
  throw new TypeError(
    `publishBatch must give { status: 'fulfilled' } or { status: 'rejected', reason } for each of its ${rows.length} rows, in their order`,
  );
}

function isResult(result: unknown): result is PublishResult {
  const status = (result as PublishResult | undefined)?.status;
  return status === 'fulfilled' || status === 'rejected';
}

async function resultOf(publish: () => Promise<void>): Promise<PublishResult> {
  try {
    await publish();
    return { status: 'fulfilled' };
  } catch (reason) {
    return { status: 'rejected', reason };
  }
}

interface Place {
  /** The row came through all interceptors; ends when the call that carries it has ended. */
  arrive(row: OutboxRow): Promise<void>;
  /** It was turned away, or is over. */
  leave(result?: PublishResult): void;
}

interface Arrival {
  readonly row: OutboxRow;
  end(result: PublishResult): void;
}

/**
 * Every row goes through the interceptors on its own, as if it were published alone. When each has come to the
 * publisher, or was turned away before, those that came are sent in one call.
 */
class Gathering {
  readonly #arrivals: Array<Arrival | undefined> = [];
  readonly #everyoneCame: Promise<void>;
  #allHere: () => void = () => {};
  #onTheWay: number;
  /** Places from which the rest of a key must not go out. */
  readonly #rows: OutboxRow[] = [];
  readonly #failed = new Set<number>();

  constructor(size: number) {
    this.#onTheWay = size;
    this.#everyoneCame = new Promise((resolve) => {
      this.#allHere = resolve;
    });
  }

  /** A place for the next row: they are sent in the order in which they were expected. */
  expect(expected: OutboxRow): Place {
    const place = this.#arrivals.push(undefined) - 1;
    this.#rows.push(expected);
    let isExpected = true;
    const leave = (result?: PublishResult): void => {
      if (!isExpected) return;
      if (result?.status === 'rejected') this.#failed.add(place);
      isExpected = false;
      this.#onTheWay -= 1;
      if (this.#onTheWay === 0) this.#allHere();
    };
    const arrive = (row: OutboxRow): Promise<void> =>
      new Promise((resolve, reject) => {
        if (!isExpected) throw new TypeError('an interceptor must call next once');
        const end = (result: PublishResult): void =>
          result.status === 'fulfilled' ? resolve() : reject(result.reason);
        this.#arrivals[place] = { row, end };
        leave();
      });
    return { arrive, leave };
  }

  async sendWith(sendRows: (rows: readonly OutboxRow[]) => Promise<readonly PublishResult[]>): Promise<void> {
    await this.#everyoneCame;
    const arrivals = this.#mayGoOut();
    if (arrivals.length === 0) return;
    try {
      const results = await sendRows(arrivals.map(({ row }) => row));
      for (const [place, result] of results.entries()) arrivals[place]?.end(result);
    } catch (reason) {
      for (const { end } of arrivals) end({ status: 'rejected', reason });
    }
  }

  /** What came, but for rows of a key behind one that was turned away: they would overtake it. */
  #mayGoOut(): Arrival[] {
    const broken = new Set<string>();
    return this.#arrivals.flatMap((arrival, place) => {
      const key = this.#rows[place]?.key;
      if (key !== undefined && this.#failed.has(place)) broken.add(key);
      if (!arrival) return [];
      if (key === undefined || !broken.has(key)) return [arrival];
      arrival.end({ status: 'rejected', reason: new Error('an older row of its key was turned away') });
      return [];
    });
  }
}

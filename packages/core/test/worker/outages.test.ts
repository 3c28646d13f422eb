import { afterEach, describe, expect, test } from 'vitest';
import { TransientError, UnavailableError } from '../../src/message/errors.js';
import type { OutboxEntry, OutboxRow } from '../../src/message/outbox-row.js';
import { OutboxPublisher, type PublishFunction } from '../../src/publish/outbox-publisher.js';
import { routePublisher } from '../../src/publish/publisher-routes.js';
import type { OutboxWorker, WorkerOptions } from '../../src/worker/outbox-worker.js';
import { FaultyStore, listen, openOutbox } from '../outbox-fixture.js';

const HOUR_MS = 3_600_000;
const SETTINGS: WorkerOptions = { maxAttempts: 5, backoff: { type: 'fixed', delayMs: 1_000 } };

const workers: OutboxWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

/** A store that counts its claims, and a broker that can be away. */
function open(publish: (row: OutboxRow) => Promise<void> = async () => {}) {
  const outbox = openOutbox({}, (options, clock) => new FaultyStore(options, clock));
  const broker = { isAway: false, sent: [] as string[] };
  const publisher: PublishFunction = async (row) => {
    if (broker.isAway) throw refused();
    await publish(row);
    broker.sent.push(row.id);
  };
  const start = (to: OutboxPublisher | PublishFunction = publisher, options: WorkerOptions = SETTINGS) => {
    const worker = outbox.worker(to, options);
    workers.push(worker);
    worker.start();
    return worker;
  };
  const claims = (): number => outbox.store.calls.filter(({ call }) => call === 'fetchPending').length;
  return { ...outbox, broker, publisher, start, claims };
}

function refused(): Error {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  return new Error('could not send', { cause });
}

function numbered(count: number, entry: Partial<OutboxEntry> = {}): OutboxEntry[] {
  return Array.from({ length: count }, (_, index) => ({
    topic: 'order.paid',
    payload: index,
    ...entry,
    id: `${entry.topic ?? 'x'}${index + 1}`,
  }));
}

describe('a destination that is away', () => {
  test('costs no attempts, no dead rows and few statements, however long', async () => {
    const { broker, claims, clock, start, store } = open();
    await store.enqueue(numbered(500));
    broker.isAway = true;
    start();
    await clock.advance(HOUR_MS);
    const rows = await store.peek({}, 500);
    expect(rows.filter(({ attempts, lastError }) => attempts > 0 || lastError !== undefined)).toEqual([]);
    expect(await store.count()).toMatchObject({ pending: 500, dead: 0 });
    // Half a minute between tries, with jitter.
    expect(claims()).toBeLessThan(4 * 60);

    broker.isAway = false;
    await clock.advance(35_000);
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 500 });
  });

  test('is called by the name of its publisher', async () => {
    class Broker extends OutboxPublisher {
      override readonly name = 'rabbitmq';

      async publish(): Promise<void> {
        throw refused();
      }
    }
    const { clock, start, store } = open();
    await store.enqueue(numbered(1));
    const worker = start(new Broker());
    const heard = listen(worker.events, 'unavailable');
    await clock.advance(1_000);
    expect(heard).toMatchObject([{ told: { destination: 'rabbitmq' } }]);
  });

  test('is reported when it goes and when it is back, and health shows it', async () => {
    const { broker, clock, start, store } = open();
    broker.isAway = true;
    await store.enqueue(numbered(2));
    const worker = start();
    const heard = listen(worker.events, 'unavailable', 'available');
    await clock.advance(10_000);
    expect(heard.map(({ signal }) => signal)).toEqual(['unavailable']);
    expect(await worker.health()).toMatchObject({
      outages: [{ destination: 'publisher', error: expect.stringContaining('could not send') }],
    });
    broker.isAway = false;
    await clock.advance(35_000);
    expect(heard.map(({ signal }) => signal)).toEqual(['unavailable', 'available']);
    expect(await worker.health()).not.toHaveProperty('outages');
  });

  test('is tried with one row at a time', async () => {
    const { clock, start, store } = open();
    await store.enqueue(numbered(100));
    let tries = 0;
    start(
      async () => {
        tries += 1;
        throw refused();
      },
      { ...SETTINGS, concurrency: 10 },
    );
    await clock.idle();
    const atFirst = tries;
    expect(atFirst).toBeLessThanOrEqual(10);
    await clock.advance(60_000);
    // 0.25 to 0.5 s at first, then doubling to between 15 and 30 s.
    expect(tries - atFirst).toBeLessThan(15);
    expect(tries - atFirst).toBeGreaterThan(3);
  });

  test('does not stop the other routes', async () => {
    const { broker, clock, publisher, start, store } = open();
    const mails: string[] = [];
    await store.enqueue([
      ...numbered(300, { topic: 'order.paid' }),
      ...numbered(300, { topic: 'mail.sent' }),
    ]);
    broker.isAway = true;
    start(routePublisher({ 'order.*': publisher, '*': async ({ id }) => mails.push(id) }));
    await clock.advance(5_000);
    expect(mails).toHaveLength(300);
    expect(await store.count()).toMatchObject({ pending: 300, dispatched: 300 });
    broker.isAway = false;
    await clock.advance(35_000);
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 600 });
  });

  test('keeps the order of a key', async () => {
    const { broker, clock, start, store } = open();
    for (const entry of numbered(20, { key: 'k' })) await store.enqueue(entry);
    broker.isAway = true;
    start();
    await clock.advance(60_000);
    broker.isAway = false;
    await clock.advance(60_000);
    expect(broker.sent).toEqual(numbered(20).map(({ id }) => id));
  });

  test('may be one of many of a publisher: the others go on', async () => {
    class Webhooks extends OutboxPublisher {
      readonly sent: string[] = [];
      override destinationOf = ({ topic }: OutboxRow): string => topic;
      async publish({ id, topic }: OutboxRow): Promise<void> {
        if (topic === 'away.example') throw refused();
        this.sent.push(id);
      }
    }
    const { clock, start, store } = open();
    await store.enqueue([
      ...numbered(100, { topic: 'away.example' }),
      ...numbered(100, { topic: 'here.example' }),
    ]);
    const webhooks = new Webhooks();
    const worker = start(webhooks);
    await clock.advance(10_000);
    expect(webhooks.sent).toHaveLength(100);
    expect(await worker.health()).toMatchObject({ outages: [{ destination: 'away.example' }] });
    expect(await store.count()).toMatchObject({ pending: 100, dead: 0 });
  });
});

describe('a failure that may be the fault of the row', () => {
  test('opens nothing while others succeed between, and ends dead', async () => {
    const { clock, row, start, store } = open();
    await store.enqueue({ id: 'poison', topic: 'order.paid', payload: 0 });
    const cut = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    const sent: string[] = [];
    start(async ({ id }) => {
      if (id === 'poison') throw cut;
      sent.push(id);
    });
    for (let minute = 0; minute < 10; minute++) {
      await store.enqueue({ id: `good${minute}`, topic: 'order.paid', payload: 0 });
      await clock.advance(60_000);
    }
    expect(sent).toHaveLength(10);
    expect(await row('poison')).toMatchObject({ deadReason: 'exhausted', attempts: 5 });
  });

  test('a publisher that says so is believed at once, and its wait is kept', async () => {
    const { clock, start, store } = open();
    await store.enqueue(numbered(1));
    let tries = 0;
    const worker = start(async () => {
      tries += 1;
      throw new UnavailableError('too many requests for api_key=hunter2', {
        isCertain: true,
        retryAfterMs: 120_000,
      });
    });
    await clock.advance(119_000);
    expect(tries).toBe(1);
    await clock.advance(10_000);
    expect(tries).toBe(2);
    expect(await worker.health()).toMatchObject({
      outages: [{ error: 'too many requests for api_key=***' }],
    });
  });

  test('a row waits as long as the destination asked, also before that means an outage', async () => {
    const { clock, start, store } = open();
    await store.enqueue(numbered(1));
    let tries = 0;
    start(async () => {
      tries += 1;
      throw new UnavailableError('too many requests', { retryAfterMs: 7_200_000 });
    });
    await clock.advance(7_190_000);
    expect(tries).toBe(1);
    await clock.advance(15_000);
    expect(tries).toBe(2);
  });

  test.each([
    ['an error that says so', { unavailable: true }],
    ['a network error', { code: 'ECONNREFUSED' }],
  ])('%s may ask for a wait in seconds, as an HTTP header does', async (_name, fields) => {
    const { clock, start, store } = open();
    await store.enqueue(numbered(1));
    let tries = 0;
    start(async () => {
      tries += 1;
      throw Object.assign(new Error('busy'), { ...fields, retryAfter: 600 });
    });
    await clock.advance(590_000);
    expect(tries).toBe(1);
    await clock.advance(15_000);
    expect(tries).toBe(2);
  });

  test('an answer to an older publish does not make a second failure the fault of the row', async () => {
    const { clock, row, start, store } = open();
    await store.enqueue(numbered(2));
    let answerOlder = (): void => {};
    start(
      async ({ id }) => {
        if (id === 'x2') throw refused();
        // Was sent before the destination went away, and its answer arrives after.
        await new Promise<void>((resolve) => {
          answerOlder = resolve;
        });
      },
      { ...SETTINGS, concurrency: 2, batchesInFlight: 2 },
    );
    await clock.idle();
    answerOlder();
    await clock.advance(10_000);
    expect(await row('x1')).toMatchObject({ dispatchedAt: expect.any(Date) });
    expect(await row('x2')).toMatchObject({ attempts: 0 });
  });

  test('three uncertain failures in a row, and no success between, are an outage', async () => {
    const { clock, start, store } = open();
    await store.enqueue(numbered(10));
    let tries = 0;
    const worker = start(async () => {
      tries += 1;
      throw new UnavailableError('503');
    });
    const heard = listen(worker.events, 'unavailable');
    await clock.idle();
    expect(tries).toBe(3);
    expect(heard).toHaveLength(1);
  });

  test('an error about the row counts as an answer', async () => {
    const { clock, row, start, store } = open();
    await store.enqueue(numbered(10));
    const worker = start(async () => {
      throw new TransientError('bad weather');
    });
    const heard = listen(worker.events, 'unavailable');
    await clock.advance(10_000);
    expect(heard).toEqual([]);
    expect(await row('x1')).toMatchObject({ deadReason: 'exhausted', attempts: 5 });
  });
});

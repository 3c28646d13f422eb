import { MemoryOutboxStore } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { OutboxDispatcher } from '../../src/dispatch/outbox-dispatcher.js';
import { EnqueuePipeline } from '../../src/enqueue/enqueue-pipeline.js';
import type { DispatchSummary } from '../../src/message/dispatch-summary.js';
import { PermanentError, TransientError } from '../../src/message/errors.js';
import type { OutboxEntry, OutboxRow } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import type { PublishContext } from '../../src/message/publish-context.js';
import type { OutboxInterceptor, PublishLayer } from '../../src/observe/interceptors.js';
import {
  type CountingClock,
  entries,
  ManualPublisher,
  openOutbox,
  refusal,
  scripted,
} from '../outbox-fixture.js';

const NOTHING: DispatchSummary = { fetched: 0, dispatched: 0, failed: 0, dead: 0, fenced: 0 };

describe('dispatchPending', () => {
  test('counts the outcome of each row', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4'));
    const publisher = scripted({ x2: new Error('busy'), x3: new PermanentError('never') });
    expect(await dispatcher(publisher).dispatchPending()).toEqual({
      fetched: 4,
      dispatched: 2,
      failed: 1,
      dead: 1,
      fenced: 0,
    });
    expect(await store.count()).toEqual({ pending: 1, dispatched: 2, dead: 1, total: 4 });
    expect(await row('x2')).toMatchObject({ attempts: 1, lastError: 'busy' });
    expect(await row('x3')).toMatchObject({ attempts: 1, lastError: 'never', deadReason: 'permanent' });
  });

  test('does nothing if no row is due', async () => {
    const { dispatcher } = openOutbox();
    expect(await dispatcher(scripted()).dispatchPending()).toEqual(NOTHING);
  });

  test('a failing row does not stop the rows after it', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const publisher = scripted({ x1: new Error('no') });
    await dispatcher(publisher).dispatchPending();
    expect(publisher.published).toEqual(['x1', 'x2', 'x3']);
    expect(await store.count()).toMatchObject({ dispatched: 2, pending: 1 });
  });

  test('claims at most the limit, which defaults to the batch size', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4', 'x5'));
    const three = dispatcher(scripted(), { batchSize: 3 });
    expect(await three.dispatchPending(1)).toMatchObject({ fetched: 1 });
    expect(await three.dispatchPending()).toMatchObject({ fetched: 3 });
    expect(await three.dispatchPending()).toMatchObject({ fetched: 1 });
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses a limit of %s', async (limit) => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1'));
    await expect(dispatcher(scripted()).dispatchPending(limit)).rejects.toThrow(
      refusal('INVALID_ARGUMENT', 'limit must be a whole number from 1'),
    );
    expect((await row('x1')).claimToken).toBeUndefined();
  });

  test('an error of the claim reaches the caller', async () => {
    class Unreachable extends MemoryOutboxStore {
      override async fetchPending(): Promise<OutboxRow[]> {
        throw new Error('database is away');
      }
    }
    const { dispatcher } = openOutbox({}, (options) => new Unreachable(options));
    await expect(dispatcher(scripted()).dispatchPending()).rejects.toThrow('database is away');
  });

  test('the context has the attempt, from 1, and a signal that is not aborted', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1'));
    const seen: unknown[] = [];
    const outbox = dispatcher(async (_row, { attempt, signal }) => {
      seen.push(attempt, signal.aborted);
      if (attempt < 3) throw new Error('again');
    });
    for (let round = 0; round < 3; round++) await outbox.dispatchPending();
    expect(seen).toEqual([1, false, 2, false, 3, false]);
  });
});

describe('an error of the publisher', () => {
  test.each<[string, () => Promise<void>, string]>([
    [
      'an error before there is a promise',
      () => {
        throw new Error('at once');
      },
      'at once',
    ],
    ['undefined', () => Promise.reject(undefined), 'undefined'],
    ['a string', () => Promise.reject('just text'), 'just text'],
  ])('%s fails the row and nothing else', async (_name, fail, text) => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const outbox = dispatcher((given) => (given.id === 'x1' ? fail() : Promise.resolve()));
    expect(await outbox.dispatchPending()).toMatchObject({ failed: 1, dispatched: 1 });
    expect(await row('x1')).toMatchObject({ attempts: 1, lastError: text });
  });

  test('an error that throws when read fails the row and nothing else', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const hostile = Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('no message for you');
      },
    });
    const summary = await dispatcher(scripted({ x1: hostile })).dispatchPending();
    expect(summary).toMatchObject({ failed: 1, dispatched: 1 });
  });

  test('a publisher that returns synchronously has published', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1'));
    expect(await dispatcher(() => undefined as never).dispatchPending()).toMatchObject({ dispatched: 1 });
  });
});

describe('retries', () => {
  test('attempts follow after 1, 2, 4 and 8 s, and the row dies at the fifth failure', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const publisher = scripted({ x1: new Error('no') });
    const outbox = dispatcher(publisher, {
      maxAttempts: 5,
      backoff: { type: 'exponential', delayMs: 1_000 },
    });
    await outbox.dispatchPending();
    for (const waitMs of [1_000, 2_000, 4_000, 8_000]) {
      await clock.advance(waitMs - 1);
      expect(await outbox.dispatchPending()).toEqual(NOTHING);
      await clock.advance(1);
      expect(await outbox.dispatchPending()).toMatchObject({ fetched: 1 });
    }
    expect(publisher.published).toHaveLength(5);
    expect(await row('x1')).toMatchObject({ attempts: 5, deadReason: 'exhausted', lastError: 'no' });
    await clock.advance(86_400_000);
    expect(await outbox.dispatchPending()).toEqual(NOTHING);
  });

  test('the policy of the entry takes precedence', async () => {
    const { store, dispatcher, row } = openOutbox();
    const [entry] = entries('x1');
    await store.enqueue({ ...(entry as OutboxEntry), retry: { maxAttempts: 1 } });
    await dispatcher(scripted({ x1: new Error('no') })).dispatchPending();
    expect(await row('x1')).toMatchObject({ deadReason: 'exhausted', attempts: 1 });
  });

  test('jitter uses the configured random source, and Retry-After is a minimum delay', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const failures = { x1: new Error('no'), x2: new TransientError('busy', 900) };
    await dispatcher(scripted(failures), {
      backoff: { type: 'fixed', delayMs: 1_000, jitter: 'full' },
      random: () => 0.25,
    }).dispatchPending();
    expect((await row('x1')).availableAt).toEqual(new Date(clock.now() + 250));
    expect((await row('x2')).availableAt).toEqual(new Date(clock.now() + 900));
  });

  test('a row that has used its attempts dies without another, with its last error', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const failing = dispatcher(scripted({ x1: new Error('poison') }));
    for (let round = 0; round < 3; round++) await failing.dispatchPending();
    const publisher = scripted();
    expect(await dispatcher(publisher, { maxAttempts: 3 }).dispatchPending()).toMatchObject({ dead: 1 });
    expect(publisher.published).toEqual([]);
    expect(await row('x1')).toMatchObject({ attempts: 3, deadReason: 'exhausted', lastError: 'poison' });
  });

  test('a row at the limit without a last error says so', async () => {
    class Forgetful extends MemoryOutboxStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        return (await super.fetchPending(limit)).map((row) => ({ ...row, attempts: 2 }));
      }
    }
    const { store, dispatcher, row } = openOutbox({}, (options) => new Forgetful(options));
    await store.enqueue(entries('x1'));
    await dispatcher(scripted(), { maxAttempts: 2 }).dispatchPending();
    expect((await row('x1')).lastError).toBe('attempts (2) had reached the limit of 2');
  });

  test('a row that crashes its process dies after maxRetakes, unpublished and without an attempt', async () => {
    const { store, dispatcher, clock, row } = openOutbox({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1', 'x2'));
    for (let crash = 0; crash < 2; crash++) {
      await store.fetchPending(1);
      await clock.advance(60_000);
    }
    const publisher = scripted();
    expect(await dispatcher(publisher, { maxRetakes: 2 }).dispatchPending()).toMatchObject({
      fetched: 1,
      dead: 1,
    });
    expect(publisher.published).toEqual([]);
    expect(await row('x1')).toMatchObject({
      attempts: 0,
      deadReason: 'crashed',
      lastError: 'its claim expired 2 times in a row; it may be crashing the process that publishes it',
    });
  });

  test('with one retake fewer it is still published', async () => {
    const { store, dispatcher, clock } = openOutbox({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1'));
    await store.fetchPending(1);
    await clock.advance(60_000);
    expect(await dispatcher(scripted(), { maxRetakes: 2 }).dispatchPending()).toMatchObject({
      dispatched: 1,
    });
  });
});

describe('unreadable rows', () => {
  const numbersOnly = new EnqueuePipeline({
    topics: {
      'order.paid': {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value) =>
            typeof value === 'number' ? { value } : { issues: [{ message: 'must be a number' }] },
        },
      },
    },
  });

  test('a stored row that no longer matches its schema dies unpublished', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue([...entries('x1'), { id: 'x2', topic: 'order.paid', payload: 5 }]);
    const publisher = scripted();
    const summary = await dispatcher(publisher, { pipeline: numbersOnly }).dispatchPending();
    expect(summary).toMatchObject({ dead: 1, dispatched: 1 });
    expect(publisher.published).toEqual(['x2']);
    expect(await row('x1')).toMatchObject({
      attempts: 0,
      deadReason: 'undecodable',
      lastError: 'payload: must be a number',
    });
  });

  test('a row that the store could not decode dies unpublished', async () => {
    class Corrupt extends MemoryOutboxStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        return (await super.fetchPending(limit)).map((row) => ({ ...row, undecodable: 'no JSON' }));
      }
    }
    const { store, dispatcher, row } = openOutbox({}, (options) => new Corrupt(options));
    await store.enqueue(entries('x1'));
    const publisher = scripted();
    await dispatcher(publisher).dispatchPending();
    expect(publisher.published).toEqual([]);
    expect(await row('x1')).toMatchObject({ attempts: 0, deadReason: 'undecodable', lastError: 'no JSON' });
  });

  test('a schema that throws fails its row and releases the slot', async () => {
    const broken = new EnqueuePipeline({
      topics: {
        'order.paid': {
          '~standard': {
            version: 1,
            vendor: 'test',
            validate: () => Promise.reject(new Error('schema broke')),
          },
        },
      },
    });
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue([...entries('x1', 'x2'), { id: 'x3', topic: 'order.placed', payload: 5 }]);
    expect(await dispatcher(scripted(), { pipeline: broken }).dispatchPending()).toMatchObject({
      failed: 2,
      dispatched: 1,
    });
    expect((await row('x1')).lastError).toBe('schema broke');
  });
});

describe('order and concurrency', () => {
  test('rows are published in order by default, whatever their keys', async () => {
    const { store, dispatcher } = openOutbox();
    const order = ['A1', 'A2', 'x1', 'B1', 'A3', 'x2', 'B2'];
    await store.enqueue(entries(...order));
    const publisher = scripted();
    await dispatcher(publisher).dispatchPending();
    expect(publisher.published).toEqual(order);
  });

  test('rows are published in order by default even if each takes a while', async () => {
    const { store, dispatcher, clock } = openOutbox();
    const order = ['A1', 'A2', 'x1', 'B1', 'A3'];
    await store.enqueue(entries(...order));
    const published: string[] = [];
    const dispatching = dispatcher(async ({ id }) => {
      await clock.wait(10);
      published.push(id);
    }).dispatchPending();
    await clock.advance(100);
    await dispatching;
    expect(published).toEqual(order);
  });

  test('the concurrency is used and never exceeded', async () => {
    const { store, dispatcher, clock } = openOutbox();
    const ids = Array.from({ length: 10 }, (_, index) => `x${index}`);
    await store.enqueue(entries(...ids));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher, { concurrency: 3 }).dispatchPending();
    await clock.idle();
    expect(publisher.running).toEqual(['x0', 'x1', 'x2']);
    publisher.succeed('x1');
    await clock.idle();
    expect(publisher.running).toEqual(['x0', 'x2', 'x3']);
    while (publisher.running.length > 0) {
      for (const id of publisher.running) publisher.succeed(id);
      await clock.idle();
    }
    expect(await dispatching).toMatchObject({ dispatched: 10 });
    expect(publisher.mostAtOnce).toBe(3);
  });

  test('two concurrent batches share the limit', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4'));
    const publisher = new ManualPublisher();
    const outbox = dispatcher(publisher, { concurrency: 1 });
    const both = Promise.all([outbox.dispatchPending(2), outbox.dispatchPending(2)]);
    await clock.idle();
    while (publisher.running.length > 0) {
      for (const id of publisher.running) publisher.succeed(id);
      await clock.idle();
    }
    expect(await both).toEqual([
      expect.objectContaining({ dispatched: 2 }),
      expect.objectContaining({ dispatched: 2 }),
    ]);
    expect(publisher.mostAtOnce).toBe(1);
  });

  test('rows of one key are published one at a time, beside other keys', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('A1', 'A2', 'A3', 'B1', 'x1', 'B2'));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher, { concurrency: 10 }).dispatchPending();
    await clock.idle();
    expect(publisher.running).toEqual(['A1', 'B1', 'x1']);
    publisher.succeed('B1');
    await clock.idle();
    expect(publisher.running).toEqual(['A1', 'x1', 'B2']);
    publisher.succeed('A1');
    await clock.idle();
    expect(publisher.running).toEqual(['x1', 'B2', 'A2']);
    for (const id of ['x1', 'B2', 'A2']) publisher.succeed(id);
    await clock.idle();
    publisher.succeed('A3');
    expect(await dispatching).toMatchObject({ dispatched: 6 });
  });

  test.each([1, 4])(
    'a failed row holds back its key and no other, with concurrency %i',
    async (concurrency) => {
      const { store, dispatcher, row } = openOutbox();
      await store.enqueue(entries('A1', 'A2', 'B1', 'A3', 'B2', 'x1'));
      const failing = scripted({ A1: new Error('no') });
      expect(await dispatcher(failing, { concurrency }).dispatchPending()).toEqual({
        fetched: 6,
        dispatched: 3,
        failed: 1,
        dead: 0,
        fenced: 0,
      });
      expect(failing.published).not.toContain('A2');
      expect(failing.published).not.toContain('A3');
      for (const id of ['A2', 'A3']) {
        expect(await row(id)).toMatchObject({ attempts: 0 });
        expect(await row(id)).not.toHaveProperty('claimToken');
      }
      const publisher = scripted();
      await dispatcher(publisher, { concurrency }).dispatchPending();
      expect(publisher.published).toEqual(['A1', 'A2', 'A3']);
    },
  );

  test('later rows of a key wait while a failed row backs off', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('A1', 'A2'));
    const backoff = { type: 'fixed', delayMs: 1_000 } as const;
    await dispatcher(scripted({ A1: new Error('no') }), { backoff }).dispatchPending();
    const publisher = scripted();
    expect(await dispatcher(publisher).dispatchPending()).toEqual(NOTHING);
    await clock.advance(1_000);
    await dispatcher(publisher).dispatchPending();
    expect(publisher.published).toEqual(['A1', 'A2']);
  });

  test('a dead row lets its key continue', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('A1', 'A2'));
    const publisher = scripted({ A1: new PermanentError('never') });
    expect(await dispatcher(publisher, { concurrency: 2 }).dispatchPending()).toMatchObject({
      dead: 1,
      dispatched: 1,
    });
    expect(publisher.published).toEqual(['A1', 'A2']);
  });
});

describe('a publish that takes too long', () => {
  /** Ends as soon as its signal aborts, which only x1 lets happen. */
  function obedient(): {
    publish(row: OutboxRow, context: PublishContext): Promise<void>;
    reasons: unknown[];
  } {
    const reasons: unknown[] = [];
    return {
      reasons,
      publish: ({ id }, { signal }) => {
        if (id !== 'x1') return Promise.resolve();
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason);
          });
        });
      },
    };
  }

  test('fails its row and aborts its signal with the reason', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const publisher = obedient();
    const dispatching = dispatcher(publisher).dispatchPending();
    await clock.advance(29_999);
    expect(publisher.reasons).toEqual([]);
    await clock.advance(1);
    expect(publisher.reasons).toEqual([new TransientError('publish took longer than 30000 ms')]);
    expect(await dispatching).toMatchObject({ fetched: 1, failed: 1 });
    expect(await row('x1')).toMatchObject({ attempts: 1, lastError: 'publish took longer than 30000 ms' });
  });

  test('that ends when its signal aborts does not stop the rows after it', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const dispatching = dispatcher(obedient()).dispatchPending();
    await clock.advance(30_000);
    expect(await dispatching).toMatchObject({ fetched: 3, failed: 1, dispatched: 2 });
  });

  test('a publisher that reads its signal only after the time-out finds it aborted', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('x1'));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher, { publishTimeoutMs: 100 }).dispatchPending();
    await clock.advance(100);
    await dispatching;
    const signal = publisher.contexts.get('x1')?.signal;
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toEqual(new TransientError('publish took longer than 100 ms'));
    publisher.succeed('x1');
  });

  test('keeps its slot while it is running, so calls never pile up', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4'));
    const publisher = new ManualPublisher();
    const outbox = dispatcher(publisher, { concurrency: 2, publishTimeoutMs: 1_000 });
    const dispatching = outbox.dispatchPending();
    await clock.idle();
    publisher.succeed('x2');
    await clock.advance(999);
    expect(publisher.running).toEqual(['x1', 'x3']);
    publisher.succeed('x3');
    await clock.advance(1);
    expect(publisher.running).toEqual(['x1', 'x4']);
    publisher.succeed('x4');
    expect(await dispatching).toEqual({ fetched: 4, dispatched: 3, failed: 1, dead: 0, fenced: 0 });
    expect(publisher.mostAtOnce).toBe(2);
    publisher.succeed('x1');
  });

  test('if all slots are stuck, unstarted rows are released and nothing is claimed', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const publisher = new ManualPublisher();
    const outbox = dispatcher(publisher, { concurrency: 2 });
    const dispatching = outbox.dispatchPending();
    await clock.advance(30_000);
    expect(await dispatching).toEqual({ fetched: 3, dispatched: 0, failed: 2, dead: 0, fenced: 0 });
    expect(await row('x3')).toMatchObject({ attempts: 0 });
    expect(await row('x3')).not.toHaveProperty('claimToken');
    await expect(outbox.dispatchPending()).rejects.toThrow(
      refusal('PUBLISHER_STUCK', 'all 2 concurrent publishes timed out and are still running'),
    );
    expect(await row('x3')).not.toHaveProperty('claimToken');
    for (const id of ['x1', 'x2']) publisher.fail(id);
  });

  test('recovers after the stuck publish has ended', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const publisher = new ManualPublisher();
    const outbox = dispatcher(publisher);
    const first = outbox.dispatchPending();
    await clock.advance(30_000);
    await first;
    await expect(outbox.dispatchPending()).rejects.toThrow(refusal('PUBLISHER_STUCK', 'all 1'));
    publisher.succeed('x1');
    await clock.idle();
    expect(await row('x1')).toMatchObject({ attempts: 1 });
    const second = outbox.dispatchPending();
    await clock.idle();
    publisher.succeed('x1');
    expect(await second).toMatchObject({ dispatched: 1 });
  });

  test('a late success or failure is ignored', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher, { concurrency: 2 }).dispatchPending();
    await clock.advance(30_000);
    await dispatching;
    publisher.succeed('x1');
    publisher.fail('x2', new Error('late'));
    await clock.idle();
    for (const id of ['x1', 'x2']) {
      expect(await row(id)).toMatchObject({ attempts: 1, lastError: 'publish took longer than 30000 ms' });
    }
  });

  test('a keyed row that timed out holds back its followers', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('A1', 'A2'));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher, { concurrency: 2 }).dispatchPending();
    await clock.advance(30_000);
    expect(await dispatching).toMatchObject({ fetched: 2, failed: 1, dispatched: 0 });
    expect(publisher.started).toEqual(['A1']);
    publisher.succeed('A1');
  });
});

describe('the claim of a batch', () => {
  const claimTimeoutMs = 60_000;

  class Unextendable extends MemoryOutboxStore {
    override extendClaim(): Promise<string[]> {
      return Promise.reject(new Error('database is away'));
    }
  }

  /** Rows take 39 s each, so that the second one runs when the claim expires at 60 s. */
  function slow(clock: CountingClock): {
    publish(row: OutboxRow, context: PublishContext): Promise<void>;
    readonly started: string[];
    readonly reasons: unknown[];
  } {
    const started: string[] = [];
    const reasons: unknown[] = [];
    return {
      started,
      reasons,
      publish: ({ id }, { signal }) => {
        started.push(id);
        return new Promise((resolve, reject) => {
          const cancel = clock.schedule(39_000, resolve);
          signal.addEventListener('abort', () => {
            cancel();
            reasons.push(signal.reason);
            reject(signal.reason);
          });
        });
      },
    };
  }

  test('is extended while slow rows are published, so nobody else takes them', async () => {
    const { store, dispatcher, clock } = openOutbox({ claimTimeoutMs });
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4', 'x5'));
    const dispatching = dispatcher(() => clock.wait(25_000)).dispatchPending();
    const other = scripted();
    for (let second = 0; second < 125; second++) {
      expect(await dispatcher(other).dispatchPending()).toEqual(NOTHING);
      await clock.advance(1_000);
    }
    expect(await dispatching).toEqual({ ...NOTHING, fetched: 5, dispatched: 5 });
    expect(other.published).toEqual([]);
    await clock.advance(claimTimeoutMs);
    expect(await dispatcher(other).dispatchPending()).toEqual(NOTHING);
  });

  test('a row requeued during its publish is aborted at the next heartbeat and ends as fenced', async () => {
    const { store, dispatcher, clock, row } = openOutbox({ claimTimeoutMs });
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher, { concurrency: 2 }).dispatchPending();
    await clock.idle();
    await store.requeue('x1');
    await clock.advance(20_000);
    const { signal } = publisher.contexts.get('x1') ?? {};
    expect(signal?.aborted).toBe(true);
    expect(String(signal?.reason)).toContain(
      'the claim on row x1 was lost: another dispatcher took it, or it was requeued',
    );
    expect(publisher.contexts.get('x2')?.signal.aborted).toBe(false);
    publisher.fail('x1');
    publisher.succeed('x2');
    expect(await dispatching).toEqual({ fetched: 2, dispatched: 1, failed: 0, dead: 0, fenced: 1 });
    expect(await row('x1')).toMatchObject({ attempts: 0 });
    expect(await row('x1')).not.toHaveProperty('lastError');
  });

  test('a row lost before it started is not published', async () => {
    const { store, dispatcher, clock } = openOutbox({ claimTimeoutMs });
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher).dispatchPending();
    await clock.idle();
    await store.requeue('x2');
    await clock.advance(20_000);
    publisher.succeed('x1');
    expect(await dispatching).toEqual({ fetched: 2, dispatched: 1, failed: 0, dead: 0, fenced: 1 });
    expect(publisher.started).toEqual(['x1']);
  });

  test('a row cancelled before it started is not published after the next heartbeat', async () => {
    const { store, dispatcher, clock, row } = openOutbox({ claimTimeoutMs });
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher).dispatchPending();
    await clock.idle();
    expect(await store.cancel('x2')).toBe('may-still-be-published');
    await clock.advance(20_000);
    publisher.succeed('x1');
    expect(await dispatching).toMatchObject({ dispatched: 1, fenced: 1 });
    expect(publisher.started).toEqual(['x1']);
    expect(await row('x2')).toMatchObject({ deadReason: 'cancelled' });
  });

  test('a row lost before it started holds back its key', async () => {
    const { store, dispatcher, clock, row } = openOutbox({ claimTimeoutMs });
    await store.enqueue(entries('x1', 'A1', 'A2'));
    const publisher = new ManualPublisher();
    const dispatching = dispatcher(publisher).dispatchPending();
    await clock.idle();
    await store.requeue('A1');
    await clock.advance(20_000);
    publisher.succeed('x1');
    expect(await dispatching).toEqual({ fetched: 3, dispatched: 1, failed: 0, dead: 0, fenced: 1 });
    expect(publisher.started).toEqual(['x1']);
    expect(await row('A2')).not.toHaveProperty('claimToken');
  });

  test('that can’t be extended aborts at its deadline, says why, and starts nothing more', async () => {
    const { store, dispatcher, clock, row } = openOutbox(
      { claimTimeoutMs },
      (options) => new Unextendable(options),
    );
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const publisher = slow(clock);
    const dispatching = dispatcher(publisher, { publishTimeoutMs: 39_500 }).dispatchPending();
    await clock.advance(59_999);
    expect(publisher.reasons).toEqual([]);
    await clock.advance(1);
    expect(publisher.reasons.map(String)).toEqual([
      'Error: the claim on row x2 was lost: it expired and could not be extended: database is away',
    ]);
    // Nobody took the expired claims meanwhile, so what became of the rows is still recorded.
    expect(await dispatching).toEqual({ fetched: 3, dispatched: 1, failed: 1, dead: 0, fenced: 0 });
    expect(publisher.started).toEqual(['x1', 'x2']);
    expect(await row('x3')).not.toHaveProperty('claimToken');
  });

  test('that expired and was taken over ends as fenced, but for what was recorded before', async () => {
    const { store, dispatcher, clock, row } = openOutbox(
      { claimTimeoutMs },
      (options) => new Unextendable(options),
    );
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const publisher = slow(clock);
    const taken: Array<Promise<OutboxRow[]>> = [];
    const dispatching = dispatcher(
      {
        publish: (given, context) => {
          // Retaken rows come alone, so it takes three claims to take them all.
          context.signal.addEventListener('abort', () => {
            for (let claim = 0; claim < 3; claim++) taken.push(store.fetchPending(3));
          });
          return publisher.publish(given, context);
        },
      },
      { publishTimeoutMs: 39_500 },
    ).dispatchPending();
    await clock.advance(60_000);
    expect(await dispatching).toEqual({ fetched: 3, dispatched: 1, failed: 0, dead: 0, fenced: 2 });
    expect((await Promise.all(taken)).flat().map(({ id }) => id)).toEqual(['x2', 'x3']);
    expect(await row('x2')).toMatchObject({ attempts: 0, retakes: 1 });
  });

  test('counts from before it was sent: after a late answer nothing is published', async () => {
    class Late extends MemoryOutboxStore {
      answer: () => Promise<void> = () => Promise.resolve();
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        const rows = await super.fetchPending(limit);
        await this.answer();
        return rows;
      }
    }
    const { store, dispatcher, clock, row } = openOutbox({ claimTimeoutMs }, (options) => new Late(options));
    store.answer = () => clock.wait(claimTimeoutMs + 1);
    await store.enqueue(entries('x1', 'x2'));
    const publisher = scripted();
    const dispatching = expect(dispatcher(publisher).dispatchPending()).rejects.toThrow(/has not answered/);
    await clock.advance(claimTimeoutMs);
    await dispatching;
    await clock.advance(1);
    expect(publisher.published).toEqual([]);
    const given = await row('x1');
    expect(given.attempts).toBe(0);
    expect(given.claimToken, 'given back when the answer came at last').toBeUndefined();
  });
});

describe('settling', () => {
  class Picky extends MemoryOutboxStore {
    readonly settles: string[][] = [];
    override settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
      this.settles.push(outcomes.map(({ id, kind }) => `${id} ${kind}`));
      if (outcomes.some(({ kind }) => kind === 'failed'))
        return Promise.reject(new Error('column is too short'));
      return super.settle(claimToken, outcomes);
    }
  }

  test('takes one call, whatever the outcomes of a batch', async () => {
    const { store, dispatcher } = openOutbox({}, (options) => new Picky(options));
    await store.enqueue(entries('x1', 'A1', 'x2'));
    await dispatcher(scripted({ x2: new PermanentError('never') })).dispatchPending();
    expect(store.settles).toHaveLength(1);
  });

  test('if a failure can’t be recorded, published rows still are, and the error is rethrown', async () => {
    const { store, dispatcher, row, clock } = openOutbox({}, (options) => new Picky(options));
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const outbox = dispatcher(scripted({ x2: new Error('no') }));
    const dispatching = expect(outbox.dispatchPending()).rejects.toThrow('column is too short');
    await clock.advance(15_000);
    await dispatching;
    expect(store.settles[0]).toEqual(['x1 dispatched', 'x2 failed', 'x3 dispatched']);
    expect(store.settles.at(-1)).toEqual(['x1 dispatched', 'x3 dispatched']);
    expect(await store.count()).toMatchObject({ dispatched: 2, pending: 1 });
    expect(await row('x2')).toMatchObject({ attempts: 0 });
  });

  test('is not tried without the failures if there is nothing left to save', async () => {
    const { store, dispatcher, clock } = openOutbox({}, (options) => new Picky(options));
    await store.enqueue(entries('x1'));
    const dispatching = dispatcher(scripted({ x1: new Error('no') })).dispatchPending();
    const rejected = expect(dispatching).rejects.toThrow('too short');
    await clock.advance(15_000);
    await rejected;
    const tries = store.settles.length;
    await clock.advance(60_000);
    expect(store.settles).toEqual(Array.from({ length: tries }, () => ['x1 failed']));
  });
});

describe('interceptors', () => {
  test('wrap dispatch and publish, the first outermost', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1'));
    const steps: string[] = [];
    const named = (name: string): OutboxInterceptor => ({
      dispatch: async (limit, next) => {
        steps.push(`${name} dispatch ${limit}`);
        const summary = await next(limit);
        steps.push(`${name} dispatched ${summary.dispatched}`);
        return summary;
      },
      publish: async (row, context, next) => {
        steps.push(`${name} publish ${row.id} ${context.attempt}`);
        await next(row, context);
        steps.push(`${name} published`);
      },
    });
    const interceptors = [named('outer'), {}, named('inner')];
    await dispatcher(async () => steps.push('publish'), { interceptors }).dispatchPending(7);
    expect(steps).toEqual([
      'outer dispatch 7',
      'inner dispatch 7',
      'outer publish x1 1',
      'inner publish x1 1',
      'publish',
      'inner published',
      'outer published',
      'inner dispatched 1',
      'outer dispatched 1',
    ]);
  });

  test('decide for each batch whether they wrap its publishes', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const seen: string[] = [];
    let isListening = false;
    const interceptor: OutboxInterceptor = {
      get publish() {
        if (!isListening) return undefined;
        const layer: PublishLayer = async (row, context, next) => {
          seen.push(row.id);
          await next(row, context);
        };
        return layer;
      },
    };
    const outbox = dispatcher(async () => {}, { interceptors: [interceptor] });
    for (const listening of [false, true, false]) {
      isListening = listening;
      await outbox.dispatchPending(1);
    }
    expect(seen).toEqual(['x2']);
  });

  test('can change the limit, the row and the context', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const seen: unknown[] = [];
    const outbox = dispatcher(async ({ topic }, { attempt, signal }) => seen.push(topic, attempt, signal), {
      interceptors: [
        {
          dispatch: (_limit, next) => next(1),
          publish: (row, context, next) => next({ ...row, topic: 'changed' }, { ...context, attempt: 9 }),
        },
      ],
    });
    expect(await outbox.dispatchPending(5)).toMatchObject({ fetched: 1 });
    expect(seen).toEqual(['changed', 9, expect.any(AbortSignal)]);
  });

  test('that throw or swallow errors decide the outcome of the row', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = scripted({ x1: new Error('swallowed') });
    const outbox = dispatcher(publisher, {
      interceptors: [
        {
          publish: (given, context, next) => {
            if (given.id === 'x2') throw new Error('not this one');
            return next(given, context).catch(() => {});
          },
        },
      ],
    });
    expect(await outbox.dispatchPending()).toMatchObject({ dispatched: 1, failed: 1 });
    expect(publisher.published).toEqual(['x1']);
    expect((await row('x2')).lastError).toBe('not this one');
  });

  test('around dispatch see its errors', async () => {
    const { dispatcher } = openOutbox({}, (options) => {
      class Unreachable extends MemoryOutboxStore {
        override fetchPending(): Promise<OutboxRow[]> {
          return Promise.reject(new Error('database is away'));
        }
      }
      return new Unreachable(options);
    });
    const seen: unknown[] = [];
    const outbox = dispatcher(scripted(), {
      interceptors: [
        {
          dispatch: async (limit, next) => {
            try {
              return await next(limit);
            } catch (error) {
              seen.push(error);
              throw error;
            }
          },
        },
      ],
    });
    await expect(outbox.dispatchPending()).rejects.toThrow('database is away');
    expect(seen).toEqual([new Error('database is away')]);
  });
});

describe('a dispatcher rejects', () => {
  test('an invalid configuration', () => {
    const { dispatcher } = openOutbox();
    expect(() => dispatcher(scripted(), { concurrency: 0 })).toThrow(
      refusal('INVALID_CONFIG', 'concurrency'),
    );
    expect(() => dispatcher(scripted(), { maxAttempts: 0 })).toThrow(
      refusal('INVALID_RETRY_POLICY', 'maxAttempts'),
    );
  });

  test('a publish that does not fit into the claim', () => {
    const { dispatcher } = openOutbox({ claimTimeoutMs: 30_000 });
    expect(() => dispatcher(scripted())).toThrow(
      refusal(
        'INVALID_CONFIG',
        'publishTimeoutMs (30000) plus one heartbeat must be below claimTimeoutMs (30000)',
      ),
    );
    expect(() => dispatcher(scripted(), { publishTimeoutMs: 19_999 })).not.toThrow();
  });

  test('anything but a publisher', () => {
    const { store } = openOutbox();
    expect(() => new OutboxDispatcher(store, {} as never)).toThrow(
      refusal('INVALID_CONFIG', 'publisher must be'),
    );
  });
});

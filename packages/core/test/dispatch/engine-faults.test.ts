import type { MemoryOutboxStore } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { EnqueuePipeline } from '../../src/enqueue/enqueue-pipeline.js';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import type { StandardResult } from '../../src/message/standard-schema.js';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import type { OutboxInterceptor } from '../../src/observe/interceptors.js';
import {
  OutboxPublisher,
  type PublishFunction,
  type PublishResult,
} from '../../src/publish/outbox-publisher.js';
import { RoutedPublisher } from '../../src/publish/publisher-routes.js';
import { OutboxWorker } from '../../src/worker/outbox-worker.js';
import {
  deferred,
  entries,
  FaultyStore,
  listen,
  ManualPublisher,
  type OutboxFixture,
  openOutbox,
  scripted,
} from '../outbox-fixture.js';

function open(options: { claimTimeoutMs?: number } = {}): OutboxFixture<FaultyStore> {
  return openOutbox(options, (all, clock) => new FaultyStore(all, clock));
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/** A broker that takes every row it is given. */
class Broker extends OutboxPublisher {
  readonly sent: string[] = [];

  async publish({ id }: OutboxRow): Promise<void> {
    this.sent.push(id);
  }

  override async publishBatch(rows: readonly OutboxRow[]): Promise<readonly PublishResult[]> {
    this.sent.push(...rows.map(({ id }) => id));
    return rows.map(() => ({ status: 'fulfilled' }));
  }
}

/** A pipeline that asks `validate` about every payload. */
function checkedBy(
  validate: (payload: { id: string }) => StandardResult | Promise<StandardResult>,
): EnqueuePipeline {
  const standard = {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) => validate(value as { id: string }),
  };
  return new EnqueuePipeline({ topics: { 'order.paid': { '~standard': standard } } });
}

describe('a group of publishBatch', () => {
  // B1: #groupOutcome asks isHeldBack, which a *follower* released in #publishable has already set.
  test('records a published row although the next row of its key was rejected before', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('A1', 'A2'));
    const broker = new Broker();
    const pipeline = checkedBy((value) => {
      if (value.id === 'A2') throw new Error('schema registry is away');
      return { value };
    });
    const outbox = dispatcher(broker, { pipeline });
    for (let round = 0; round < 3; round++) await outbox.dispatchPending();
    expect(broker.sent).toEqual(['A1']);
    expect(await row('A1')).toHaveProperty('dispatchedAt');
  });

  // B22: Gathering sends what arrived, also rows of a key whose head an interceptor has just failed (I5).
  test('does not include a row if an earlier row of its key failed in an interceptor', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('A1', 'A2', 'x1'));
    const broker = new Broker();
    let failures = 1;
    const interceptor: OutboxInterceptor = {
      publish: async (row, context, next) => {
        if (row.id === 'A1' && failures-- > 0) throw new Error('rate limiter');
        await next(row, context);
      },
    };
    const outbox = dispatcher(broker, { interceptors: [interceptor] });
    for (let round = 0; round < 2; round++) await outbox.dispatchPending();
    expect(broker.sent.filter((id) => id.startsWith('A'))).toEqual(['A1', 'A2']);
  });

  // B10: holds() is asked row by row, before the schema checks of the later rows; publishStarted then counts lost rows.
  test('is not sent if the claim expired during the schema checks', async () => {
    const { store, dispatcher, clock } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1', 'x2'));
    store.before.extendClaim = () => Promise.reject(new Error('database is away'));
    const broker = new Broker();
    const pipeline = checkedBy(async (value) => {
      if (value.id === 'x2') await clock.wait(60_000);
      return { value };
    });
    const dispatching = dispatcher(broker, { pipeline }).dispatchPending();
    await clock.advance(60_000);
    await dispatching;
    expect(broker.sent).toEqual([]);
  });

  // B11a
  test('is not sent after its time-out because of a slow interceptor', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const broker = new Broker();
    const interceptor: OutboxInterceptor = {
      publish: async (row, context, next) => {
        if (row.id === 'x2') await clock.wait(40_000);
        await next(row, context);
      },
    };
    const dispatching = dispatcher(broker, { interceptors: [interceptor] }).dispatchPending();
    await clock.advance(30_000);
    expect(await dispatching).toMatchObject({ failed: 2 });
    await clock.advance(20_000);
    expect(broker.sent).toEqual([]);
  });

  // B11b: the second arrive() gets a promise that nobody ends.
  test('survives an interceptor that calls next twice', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('x1'));
    const broker = new Broker();
    let failures = 1;
    broker.publishBatch = async (rows) =>
      rows.map(() =>
        failures-- > 0 ? { status: 'rejected', reason: new Error('busy') } : { status: 'fulfilled' },
      );
    const interceptor: OutboxInterceptor = {
      publish: (row, context, next) => next(row, context).catch(() => next(row, context)),
    };
    const outbox = dispatcher(broker, { interceptors: [interceptor] });
    const dispatching = outbox.dispatchPending();
    await clock.advance(30_000);
    await dispatching;
    await expect(outbox.dispatchPending()).resolves.toBeDefined();
  });

  // B12: `every` passes over holes.
  test('fails with a clear error if its results have holes', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const broker = new Broker();
    broker.publishBatch = async () => new Array<PublishResult>(2);
    await dispatcher(broker).dispatchPending();
    expect((await row('x1')).lastError).toContain('publishBatch must return');
  });
});

describe('a route whose matches throws', () => {
  // B2: finalPublisher runs in #runLane, outside of every try: the lane dies with its slot and its row.
  function routed(publish: PublishFunction): RoutedPublisher {
    const publisher = { publish } as OutboxPublisher;
    const isRefund = ({ payload }: OutboxRow): boolean => (payload as { kind: string }).kind.length === 6;
    return new RoutedPublisher([
      { name: 'refunds', matches: isRefund, publisher },
      { name: 'rest', matches: () => true, publisher },
    ]);
  }

  async function enqueue(store: MemoryOutboxStore, id: string, payload: unknown): Promise<void> {
    await store.enqueue({ id, topic: 'order.paid', payload });
  }

  test('fails its row and no other', async () => {
    const { store, dispatcher, row } = openOutbox();
    await enqueue(store, 'x1', {});
    await enqueue(store, 'x2', { kind: 'refund' });
    const publisher = scripted();
    expect(await dispatcher(routed(publisher.publish)).dispatchPending()).toMatchObject({
      failed: 1,
      dispatched: 1,
    });
    expect(publisher.published).toEqual(['x2']);
    expect(await row('x1')).toMatchObject({ attempts: 1 });
  });

  test('does not stop the worker', async () => {
    const { store, worker, clock } = openOutbox();
    await enqueue(store, 'x1', {});
    const publisher = scripted();
    const running = worker(routed(publisher.publish), { backoff: { type: 'fixed', delayMs: 60_000 } });
    running.start();
    await clock.advance(1_000);
    await enqueue(store, 'x2', { kind: 'refund' });
    await clock.advance(60_000);
    await running.stop();
    expect(publisher.published).toEqual(['x2']);
  });
});

describe('an interceptor around dispatch', () => {
  // B3: DispatchEngine.dispatch is not async, so #send throws into #poll: batch neither run nor closed, lease kept forever.
  test('that throws synchronously releases the rows', async () => {
    const { store, worker, clock } = open();
    await store.enqueue(entries('x1'));
    let failures = 1;
    const interceptor: OutboxInterceptor = {
      dispatch: (limit, next) => {
        if (failures-- > 0) throw new Error('tracer broke');
        return next(limit);
      },
    };
    const publisher = scripted();
    const running = worker(publisher, { interceptors: [interceptor] });
    running.start();
    await clock.advance(10_000);
    expect(publisher.published).toEqual(['x1']);
    expect(await running.stop()).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  // B4: claim, fail, release, claim … without a wait; with the memory store not even a timer gets its turn.
  test('that always fails does not cause a busy loop', async () => {
    const { store, worker, clock } = open();
    await store.enqueue(entries('x1'));
    let calls = 0;
    const interceptor: OutboxInterceptor = {
      dispatch: async () => {
        calls += 1;
        if (calls > 1_000) await never();
        throw new Error('tracer broke');
      },
    };
    const running = worker(scripted(), { interceptors: [interceptor] });
    running.start();
    await clock.advance(1_000);
    const stopping = running.stop({ graceMs: 0 });
    await clock.advance(10_000);
    await stopping;
    expect(calls).toBeLessThan(100);
  });

  // B15: `done` follows the interceptor, not the batch.
  test('that stops waiting does not hide the batch from a stop', async () => {
    const { store, worker, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new ManualPublisher();
    const interceptor: OutboxInterceptor = {
      dispatch: (limit, next) =>
        Promise.race([next(limit), clock.wait(10).then(() => Promise.reject(new Error('too slow')))]),
    };
    const running = worker(publisher, { interceptors: [interceptor] });
    running.start();
    await clock.advance(20);
    const stopping = running.stop({ graceMs: 1_000 });
    await clock.advance(6_000);
    expect(await stopping).toEqual(['x1']);
    publisher.succeed('x1');
    await clock.advance(1_000);
    expect(publisher.started).toEqual(['x1']);
  });
});

describe('a settle', () => {
  // B5: heartbeats continue while it is retried, so remainingMs never falls and the last attempt never comes.
  test('of an outcome that the store rejects does not hold published rows forever', async () => {
    const { store, worker, clock } = open({ claimTimeoutMs: 60_000 });
    store.before.settle = (outcomes: readonly Outcome[]) =>
      outcomes.some(({ kind }) => kind === 'failed')
        ? Promise.reject(new Error('column is too short'))
        : undefined;
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const running = worker(scripted({ x2: new Error('no') }), { backoff: { type: 'fixed', delayMs: 1_000 } });
    running.start();
    await clock.advance(600_000);
    const counts = await store.count();
    delete store.before.settle;
    const stopping = running.stop();
    await clock.advance(20_000);
    await stopping;
    expect(counts).toMatchObject({ dispatched: 2 });
  });

  // B20: it has no time limit, the lease is kept, and nothing is reported.
  test('that never answers is reported, and does not keep its claims alive forever', async () => {
    const { store, worker, clock } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1'));
    let hangs = 1;
    store.before.settle = () => (hangs-- > 0 ? never() : undefined);
    const running = worker(scripted(), { batchesInFlight: 1 });
    const heard = listen(running.events, 'trouble');
    running.start();
    await clock.advance(600_000);
    const stopping = running.stop({ graceMs: 0 });
    await clock.advance(10_000);
    await stopping;
    expect(heard).not.toEqual([]);
    expect(await store.count()).toMatchObject({ dispatched: 1 });
  });

  // B18
  test('without outcomes is not sent', async () => {
    const { store, worker, clock } = open();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new ManualPublisher();
    const running = worker(publisher, { batchSize: 1 });
    running.start();
    await clock.idle();
    const stopping = running.stop();
    await clock.idle();
    publisher.succeed('x1');
    await stopping;
    const settles = store.calls.filter(({ call }) => call === 'settle').map(({ asked }) => asked);
    expect(settles).not.toContainEqual([]);
  });

  // B24: a lane whose publish timed out waits for a slot before it looks whether anything is left to publish.
  test('does not wait for a slot that the batch no longer needs', async () => {
    const { store, worker, clock, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const publisher = new ManualPublisher();
    const running = worker(publisher, {
      batchSize: 1,
      batchesInFlight: 3,
      concurrency: 2,
      publishTimeoutMs: 1_000,
      backoff: { type: 'fixed', delayMs: 600_000 },
    });
    running.start();
    await clock.advance(500);
    publisher.succeed('x2');
    await clock.advance(500);
    const { attempts } = await row('x1');
    publisher.succeed('x3');
    publisher.fail('x1');
    await clock.idle();
    await running.stop();
    expect(attempts).toBe(1);
  });
});

describe('a stop', () => {
  // B6: giveUpSettling leaves the lease running; the claim that should expire is extended forever.
  test('that gave up on a settle lets the claim expire and leaves no timer', async () => {
    const { store, worker, clock } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1'));
    store.before.settle = never;
    const running = worker(scripted());
    running.start();
    await clock.advance(10);
    const stopping = running.stop({ graceMs: 1_000 });
    await clock.advance(6_000);
    expect(await stopping).toEqual(['x1']);
    await clock.advance(120_000);
    expect(store.timesOf('extendClaim')).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(await store.fetchPending(1)).toMatchObject([{ id: 'x1', retakes: 1 }]);
  });

  // B7: the ids are added only when release has answered.
  test('reports unstarted rows whose release is not answered', async () => {
    const { store, worker, clock } = open();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    running.start();
    await clock.idle();
    store.before.settle = (outcomes: readonly Outcome[]) =>
      outcomes.some(({ kind }) => kind === 'released') ? never() : undefined;
    const stopping = running.stop({ graceMs: 1_000 });
    await clock.idle();
    publisher.succeed('x1');
    await clock.advance(6_000);
    expect(await stopping).toEqual(['x2']);
  });

  // B8: a row that waits for its schema is neither in the queue nor running.
  test('prevents any later publish, even of rows that waited for a schema check', async () => {
    const { store, worker, clock } = openOutbox();
    await store.enqueue(entries('x1'));
    const check = deferred();
    const publisher = scripted();
    const pipeline = checkedBy(async (value) => {
      await check.promise;
      return { value };
    });
    const running = worker(publisher, { pipeline });
    running.start();
    await clock.idle();
    const stopping = running.stop({ graceMs: 1_000 });
    await clock.advance(6_000);
    await stopping;
    check.resolve();
    await clock.advance(10_000);
    expect(publisher.published).toEqual([]);
  });

  // B9: the old loop finds #isRunning true again; two loops share one #goOn, and one of them waits forever.
  test('during a hanging claim leaves one loop after the next start', async () => {
    const { store, worker, clock } = open();
    const hung = deferred();
    store.before.fetchPending = () => hung.promise;
    const running = worker(scripted(), { pollIntervalMs: 100 });
    running.start();
    await clock.idle();
    const first = running.stop({ graceMs: 1_000 });
    await clock.advance(6_000);
    await first;
    delete store.before.fetchPending;
    running.start();
    await clock.advance(1_000);
    hung.resolve();
    await clock.advance(1_000);
    const before = store.timesOf('fetchPending').length;
    await clock.advance(1_000);
    const polls = store.timesOf('fetchPending').length - before;
    let isStopped = false;
    const second = running.stop().then(() => {
      isStopped = true;
    });
    await clock.idle();
    const wasStopped = isStopped;
    await clock.advance(20_000);
    await second;
    expect({ polls, wasStopped }).toEqual({ polls: 10, wasStopped: true });
  });

  // B14: a timer of 2^31 ms and more fires at once, so the longest grace is none.
  test.each([Number.POSITIVE_INFINITY, 2 ** 31, Number.NaN])(
    'with a grace of %s is rejected or honored, but does not abort at once',
    async (graceMs) => {
      const { store } = openOutbox();
      await store.enqueue(entries('x1'));
      const publisher = new ManualPublisher();
      const running = new OutboxWorker(store, publisher);
      running.start();
      while (publisher.running.length === 0) await new Promise(setImmediate);
      const stopping = (async () => running.stop({ graceMs }))().catch(() => running.stop());
      await new Promise((resolve) => setTimeout(resolve, 20));
      const isAborted = publisher.contexts.get('x1')?.signal.aborted;
      publisher.succeed('x1');
      await stopping;
      expect(isAborted).toBe(false);
    },
  );

  // B13b
  test('does not fail if unsubscribing from the wake-up throws', async () => {
    const { worker } = openOutbox();
    const throwing = (): never => {
      throw new Error('no');
    };
    const running = worker(scripted(), { wakeup: { subscribe: () => throwing } });
    running.start();
    expect(await running.stop()).toEqual([]);
  });
});

describe('a worker', () => {
  // B13a
  test('is not half started if its wake-up throws', async () => {
    const { worker, clock } = openOutbox();
    const subscribe = (): never => {
      throw new Error('no');
    };
    const running = worker(scripted(), { wakeup: { subscribe }, backlogThreshold: 1 });
    expect(() => running.start()).toThrow('no');
    expect(clock.pendingTimers).toBe(0);
    expect(await running.health()).toMatchObject({ status: 'stopped' });
  });

  // B16
  test('does not count released rows as in flight', async () => {
    const { store, worker, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    running.start();
    await clock.idle();
    const stopping = running.stop();
    await clock.idle();
    const { rowsInFlight } = await running.health();
    publisher.succeed('x1');
    await stopping;
    expect(rowsInFlight).toBe(1);
  });

  // B17: no backoff is the default, so a failed row is claimed again at once. With the memory store the loop lives on
  // the microtask queue alone: no timer, no I/O and no stop() gets a turn.
  test('does not busy-loop on a publisher that always fails, with the defaults', async () => {
    const { store, worker, clock } = openOutbox();
    await store.enqueue(entries('x1'));
    let calls = 0;
    const running = worker(async () => {
      calls += 1;
      if (calls > 2_000) await never();
      throw new Error('broker is away');
    });
    running.start();
    await clock.advance(1_000);
    const seen = calls;
    const stopping = running.stop({ graceMs: 0 });
    await clock.advance(10_000);
    await stopping;
    expect(seen).toBeLessThan(1_000);
  });

  // B21
  test('is unhealthy while its claim is not answered', async () => {
    const { store, worker, clock } = open({ claimTimeoutMs: 60_000 });
    const hung = deferred();
    store.before.fetchPending = () => hung.promise;
    const running = worker(scripted());
    running.start();
    await clock.advance(600_000);
    const { status } = await running.health();
    hung.resolve();
    await running.stop();
    expect(status).toBe('down');
  });

  // B23: roughBytes overflows the stack inside #send, with the same end as B3.
  test('publishes a deeply nested payload', async () => {
    const { store, worker, clock } = open();
    await store.enqueue(entries('x1', 'x2'));
    let payload: unknown = 1;
    for (let level = 0; level < 20_000; level++) payload = [payload];
    const claim = store.fetchPending.bind(store);
    store.fetchPending = async (limit) => (await claim(limit)).map((row) => ({ ...row, payload }));
    const publisher = scripted();
    const running = worker(publisher);
    running.start();
    await clock.advance(1_000);
    await running.stop();
    expect(publisher.published).toEqual(['x1', 'x2']);
  });
});

describe('an event listener', () => {
  // B19: queries of Prisma and Knex are such: nothing runs until somebody calls then.
  test('that returns a thenable is awaited, and its failure is reported', async () => {
    const events = new DispatchEvents();
    const heard = listen(events, 'listenerFailed');
    const query = {
      // biome-ignore lint/suspicious/noThenProperty: a thenable is the point.
      then: (_resolve: unknown, reject: (error: Error) => void) => reject(new Error('no')),
    };
    events.on('started', () => query);
    events.emit('started', {});
    await new Promise(setImmediate);
    expect(heard).toHaveLength(1);
  });
});

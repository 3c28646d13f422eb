import { MemoryOutboxStore } from '@postcommit/store-memory';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { EnqueuePipeline } from '../../src/enqueue/enqueue-pipeline.js';
import { PermanentError, TransientError } from '../../src/message/errors.js';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { StandardResult } from '../../src/message/standard-schema.js';
import type { OutboxInterceptor } from '../../src/observe/interceptors.js';
import {
  OutboxPublisher,
  type PublishBatchContext,
  type PublishResult,
} from '../../src/publish/outbox-publisher.js';
import { routePublisher } from '../../src/publish/publisher-routes.js';
import { deferred, entries, FaultyStore, openOutbox, refusal } from '../outbox-fixture.js';

type Answer = (
  rows: readonly OutboxRow[],
  context: PublishBatchContext,
  call: number,
) => Promise<readonly PublishResult[]>;

/** A broker that takes many rows at once and answers as the test says. */
class BatchPublisher extends OutboxPublisher {
  readonly calls: string[][] = [];
  readonly rows: OutboxRow[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer = async (rows) => results(rows)) {
    super();
    this.#answer = answer;
  }

  async publish({ id }: OutboxRow): Promise<void> {
    throw new Error(`${id} was published alone`);
  }

  override publishBatch(
    rows: readonly OutboxRow[],
    context: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    this.calls.push(rows.map(({ id }) => id));
    this.rows.push(...rows);
    return this.#answer(rows, context, this.calls.length);
  }
}

/** Fulfilled for every row, but rejected for those in the table. */
function results(
  rows: readonly OutboxRow[],
  failures: Readonly<Record<string, unknown>> = {},
): PublishResult[] {
  return rows.map(({ id }) =>
    id in failures ? { status: 'rejected', reason: failures[id] } : { status: 'fulfilled' },
  );
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

describe('a publisher with publishBatch', () => {
  test('receives all rows of a claim in one call, in order, including several of one key', async () => {
    const { store, dispatcher } = openOutbox();
    const order = ['x1', 'A1', 'B1', 'A2', 'x2', 'A3'];
    await store.enqueue(entries(...order));
    const publisher = new BatchPublisher();
    expect(await dispatcher(publisher, { concurrency: 4 }).dispatchPending()).toMatchObject({
      dispatched: 6,
    });
    expect(publisher.calls).toEqual([order]);
  });

  test('is called once for each claimed batch', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4', 'x5'));
    const publisher = new BatchPublisher();
    const outbox = dispatcher(publisher, { batchSize: 2 });
    for (let round = 0; round < 4; round++) await outbox.dispatchPending();
    expect(publisher.calls).toEqual([['x1', 'x2'], ['x3', 'x4'], ['x5']]);
  });

  test('is driven by the worker in the same way, with several batches in flight', async () => {
    const { store, worker, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4', 'x5'));
    const answers = deferred();
    const publisher = new BatchPublisher(async (rows) => {
      await answers.promise;
      return results(rows);
    });
    const running = worker(publisher, { batchSize: 2, batchesInFlight: 2, concurrency: 2 });
    running.start();
    await clock.idle();
    expect(publisher.calls).toEqual([
      ['x1', 'x2'],
      ['x3', 'x4'],
    ]);
    answers.resolve();
    await clock.idle();
    expect(await store.count()).toMatchObject({ dispatched: 5 });
    await running.stop();
  });

  test('takes one slot for the whole group', async () => {
    const { store, worker, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4'));
    const answers = deferred();
    const publisher = new BatchPublisher(async (rows) => {
      await answers.promise;
      return results(rows);
    });
    const running = worker(publisher, { batchSize: 2, batchesInFlight: 2, concurrency: 1 });
    running.start();
    await clock.idle();
    expect(publisher.calls).toEqual([['x1', 'x2']]);
    answers.resolve();
    await clock.idle();
    expect(publisher.calls).toHaveLength(2);
    await running.stop();
  });
});

describe('the results of publishBatch', () => {
  test('decide each row separately', async () => {
    const { store, dispatcher, row, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4'));
    const failures = {
      x2: new Error('busy'),
      x3: new PermanentError('never'),
      x4: new TransientError('slow down', 9_000),
    };
    const publisher = new BatchPublisher(async (rows) => results(rows, failures));
    expect(await dispatcher(publisher).dispatchPending()).toEqual({
      fetched: 4,
      dispatched: 1,
      failed: 2,
      dead: 1,
      fenced: 0,
    });
    expect(await row('x2')).toMatchObject({ attempts: 1, lastError: 'busy' });
    expect(await row('x3')).toMatchObject({ attempts: 1, deadReason: 'permanent' });
    expect((await row('x4')).availableAt).toEqual(new Date(clock.now() + 9_000));
  });

  test.each<[string, Answer]>([
    ['rejecting', () => Promise.reject(new Error('broker is away'))],
    [
      'throwing before there is a promise',
      () => {
        throw new Error('broker is away');
      },
    ],
  ])('%s fails them all', async (_name, answer) => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    expect(await dispatcher(new BatchPublisher(answer)).dispatchPending()).toMatchObject({ failed: 2 });
    for (const id of ['x1', 'x2'])
      expect(await row(id)).toMatchObject({ attempts: 1, lastError: 'broker is away' });
  });

  const fulfilled = { status: 'fulfilled' };
  const wrong: Array<[string, unknown]> = [
    ['too few', [fulfilled]],
    ['too many', [fulfilled, fulfilled, fulfilled]],
    ['nothing', undefined],
    ['null', null],
    ['no list', { length: 2, 0: fulfilled, 1: fulfilled }],
    ['another status', [fulfilled, { status: 'ok' }]],
    ['no objects', [fulfilled, true]],
    ['holes that are undefined', [fulfilled, undefined]],
  ];

  test.each(wrong)('that are %s fail all rows, and say what is expected', async (_name, answer) => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new BatchPublisher(async () => answer as PublishResult[]);
    expect(await dispatcher(publisher).dispatchPending()).toMatchObject({ failed: 2, dispatched: 0 });
    for (const id of ['x1', 'x2']) {
      expect((await row(id)).lastError).toBe(
        "publishBatch must return { status: 'fulfilled' } or { status: 'rejected', reason } for each of its 2 rows, in their order",
      );
    }
  });

  test.each(wrong)('that are %s fail all rows, even behind interceptors', async (_name, answer) => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new BatchPublisher(async () => answer as PublishResult[]);
    const interceptors: OutboxInterceptor[] = [{ publish: (given, context, next) => next(given, context) }];
    await dispatcher(publisher, { interceptors }).dispatchPending();
    for (const id of ['x1', 'x2']) expect((await row(id)).lastError).toContain('for each of its 2 rows');
  });
});

describe('the order of a key in a group', () => {
  test('only the rows before the first failure count: later ones are sent again after it', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('A1', 'A2', 'A3', 'A4', 'B1', 'x1'));
    const failures = { A2: new Error('busy') };
    const publisher = new BatchPublisher(async (rows, _context, call) =>
      results(rows, call === 1 ? failures : {}),
    );
    const outbox = dispatcher(publisher);
    expect(await outbox.dispatchPending()).toEqual({
      fetched: 6,
      dispatched: 3,
      failed: 1,
      dead: 0,
      fenced: 0,
    });
    expect(await row('A1')).toHaveProperty('dispatchedAt');
    expect(await row('A2')).toMatchObject({ attempts: 1 });
    for (const id of ['A3', 'A4']) {
      expect(await row(id)).toMatchObject({ attempts: 0 });
      expect(await row(id)).not.toHaveProperty('claimToken');
    }
    await outbox.dispatchPending();
    expect(publisher.calls[1]).toEqual(['A2', 'A3', 'A4']);
    expect(await store.count()).toMatchObject({ dispatched: 6 });
  });

  test('a dead row does not invalidate the rows behind it', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('A1', 'A2'));
    const publisher = new BatchPublisher(async (rows) => results(rows, { A1: new PermanentError('never') }));
    expect(await dispatcher(publisher).dispatchPending()).toMatchObject({ dead: 1, dispatched: 1 });
  });

  test('a failure of one key does not touch another', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('A1', 'B1', 'A2', 'B2'));
    const publisher = new BatchPublisher(async (rows) => results(rows, { A1: new Error('no') }));
    expect(await dispatcher(publisher).dispatchPending()).toEqual({
      fetched: 4,
      dispatched: 2,
      failed: 1,
      dead: 0,
      fenced: 0,
    });
  });
});

describe('rows that must not be published', () => {
  test('are left out of the group if they fail their schema', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'A1', 'A2', 'x2'));
    const pipeline = checkedBy((payload) =>
      payload.id === 'A1' || payload.id === 'x2' ? { issues: [{ message: 'is odd' }] } : { value: payload },
    );
    const publisher = new BatchPublisher();
    expect(await dispatcher(publisher, { pipeline }).dispatchPending()).toMatchObject({
      dead: 2,
      dispatched: 2,
    });
    expect(publisher.calls).toEqual([['x1', 'A2']]);
    expect(await row('A1')).toMatchObject({
      deadReason: 'undecodable',
      lastError: 'payload: is odd',
      attempts: 0,
    });
  });

  test('are left out of the group if they are condemned', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    await store.markFailed('x1', 'poison');
    const publisher = new BatchPublisher();
    expect(await dispatcher(publisher, { maxAttempts: 1 }).dispatchPending()).toMatchObject({ dead: 1 });
    expect(publisher.calls).toEqual([['x2']]);
    expect(await row('x1')).toMatchObject({ deadReason: 'exhausted', lastError: 'poison' });
  });

  test('are not sent as an empty group if none is left', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new BatchPublisher();
    const pipeline = checkedBy(() => ({ issues: [{ message: 'no' }] }));
    const outbox = dispatcher(publisher, { pipeline });
    expect(await outbox.dispatchPending()).toMatchObject({ dead: 2 });
    expect(publisher.calls).toEqual([]);
    await store.enqueue({ topic: 'order.placed', payload: 1, id: 'x3' });
    expect(await outbox.dispatchPending()).toMatchObject({ dispatched: 1 });
  });

  test('hold back the later rows of their key if they have to be retried', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('A1', 'A2', 'x1'));
    const pipeline = checkedBy((value) => {
      if (value.id === 'A1') throw new Error('schema registry is away');
      return { value };
    });
    const publisher = new BatchPublisher();
    await dispatcher(publisher, { pipeline }).dispatchPending();
    expect(publisher.calls).toEqual([['x1']]);
    expect(await row('A1')).toMatchObject({ attempts: 1, lastError: 'schema registry is away' });
    expect(await row('A2')).toMatchObject({ attempts: 0 });
    expect(await row('A2')).not.toHaveProperty('claimToken');
  });

  test('are not sent if their claim was lost before', async () => {
    const { store, dispatcher, clock } = openOutbox({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1', 'x2'));
    const pipeline = checkedBy(async (value) => {
      if (value.id === 'x1') await clock.wait(25_000);
      return { value };
    });
    const publisher = new BatchPublisher();
    const dispatching = dispatcher(publisher, { pipeline }).dispatchPending();
    await clock.advance(1);
    await store.requeue('x2');
    await clock.advance(25_000);
    expect(await dispatching).toMatchObject({ dispatched: 1, fenced: 1 });
    expect(publisher.calls).toEqual([['x1']]);
  });
});

describe('interceptors of publish around a group', () => {
  test('see each row once, with its own attempt, and the outcome of each', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3'));
    await store.markFailed('x2', 'before');
    const steps: string[] = [];
    const interceptors: OutboxInterceptor[] = [
      {
        publish: async (row, context, next) => {
          steps.push(`${row.id} try ${context.attempt}`);
          try {
            await next(row, context);
            steps.push(`${row.id} published`);
          } catch (error) {
            steps.push(`${row.id} ${String(error)}`);
            throw error;
          }
        },
      },
    ];
    const publisher = new BatchPublisher(async (rows) => results(rows, { x3: new Error('no') }));
    await dispatcher(publisher, { interceptors }).dispatchPending();
    expect(publisher.calls).toHaveLength(1);
    expect([...steps].sort()).toEqual([
      'x1 published',
      'x1 try 1',
      'x2 published',
      'x2 try 2',
      'x3 Error: no',
      'x3 try 1',
    ]);
  });

  test('can change the headers of each row', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const interceptors: OutboxInterceptor[] = [
      { publish: (row, context, next) => next({ ...row, headers: { trace: row.id } }, context) },
    ];
    const publisher = new BatchPublisher();
    await dispatcher(publisher, { interceptors }).dispatchPending();
    expect(publisher.rows.map(({ headers }) => headers)).toEqual([{ trace: 'x1' }, { trace: 'x2' }]);
  });

  test('can reject a row or fail: the group is sent with the others, in order', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4', 'x5'));
    const interceptors: OutboxInterceptor[] = [
      {
        publish: (given, context, next) => {
          if (given.id === 'x1') return Promise.resolve();
          if (given.id === 'x2') return Promise.reject(new PermanentError('not in this country'));
          if (given.id === 'x4') throw new Error('at once');
          return next(given, context);
        },
      },
    ];
    const publisher = new BatchPublisher();
    expect(await dispatcher(publisher, { interceptors }).dispatchPending()).toEqual({
      fetched: 5,
      dispatched: 3,
      failed: 1,
      dead: 1,
      fenced: 0,
    });
    expect(publisher.calls).toEqual([['x3', 'x5']]);
    expect(await row('x2')).toMatchObject({ deadReason: 'permanent', lastError: 'not in this country' });
    expect((await row('x4')).lastError).toBe('at once');
  });

  test('can reject all rows: nothing is sent', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const interceptors: OutboxInterceptor[] = [{ publish: () => Promise.reject(new Error('closed')) }];
    const publisher = new BatchPublisher();
    expect(await dispatcher(publisher, { interceptors }).dispatchPending()).toMatchObject({ failed: 2 });
    expect(publisher.calls).toEqual([]);
  });

  test('can be slow: the group waits, and keeps its order', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const interceptors: OutboxInterceptor[] = [
      {
        publish: async (row, context, next) => {
          await clock.wait(row.id === 'x1' ? 100 : 10);
          await next(row, context);
        },
      },
    ];
    const publisher = new BatchPublisher();
    const dispatching = dispatcher(publisher, { interceptors }).dispatchPending();
    await clock.advance(99);
    expect(publisher.calls).toEqual([]);
    await clock.advance(1);
    expect(await dispatching).toMatchObject({ dispatched: 3 });
    expect(publisher.calls).toEqual([['x1', 'x2', 'x3']]);
  });

  test('can swallow a failure', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const interceptors: OutboxInterceptor[] = [
      { publish: (row, context, next) => next(row, context).catch(() => {}) },
    ];
    const publisher = new BatchPublisher(() => Promise.reject(new Error('broker is away')));
    expect(await dispatcher(publisher, { interceptors }).dispatchPending()).toMatchObject({ dispatched: 2 });
  });
});

describe('a group that takes too long', () => {
  test('fails all its rows and aborts the signal; the slot stays taken until the call ends', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const answer = deferred();
    const signals: AbortSignal[] = [];
    const publisher = new BatchPublisher(async (rows, { signal }) => {
      signals.push(signal);
      await answer.promise;
      return results(rows);
    });
    const outbox = dispatcher(publisher, { publishTimeoutMs: 1_000 });
    const dispatching = outbox.dispatchPending();
    await clock.advance(999);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advance(1);
    expect(await dispatching).toMatchObject({ fetched: 2, failed: 2 });
    expect(signals[0]?.aborted).toBe(true);
    for (const id of ['x1', 'x2'])
      expect(await row(id)).toMatchObject({ attempts: 1, lastError: 'publish took longer than 1000 ms' });
    await expect(outbox.dispatchPending()).rejects.toThrow(refusal('PUBLISHER_STUCK', 'all 1'));
    answer.resolve();
    await clock.idle();
    expect(await row('x1')).not.toHaveProperty('dispatchedAt');
    expect(await outbox.dispatchPending()).toMatchObject({ dispatched: 2 });
  });

  test('holds back the keys whose rows failed', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('A1', 'A2', 'x1'));
    const publisher = new BatchPublisher(
      (_rows, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    const dispatching = dispatcher(publisher, { publishTimeoutMs: 1_000 }).dispatchPending();
    await clock.advance(1_000);
    expect(await dispatching).toMatchObject({ fetched: 3, failed: 2 });
    expect(await row('A1')).toMatchObject({ attempts: 1 });
    expect(await row('A2')).toMatchObject({ attempts: 0 });
  });
});

describe('routes', () => {
  test('rows of a route with publishBatch are sent together, others one by one', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue([
      { id: 'x1', topic: 'payments.paid', payload: 1 },
      { id: 'x2', topic: 'mail.sent', payload: 1 },
      { id: 'x3', topic: 'payments.refunded', payload: 1 },
      { id: 'x4', topic: 'audit', payload: 1 },
      { id: 'x5', topic: 'audit', payload: 1 },
    ]);
    const [payments, audit] = [new BatchPublisher(), new BatchPublisher()];
    const alone: string[] = [];
    const publisher = routePublisher({
      'payments.*': payments,
      audit,
      '*': async ({ id }) => alone.push(id),
    });
    expect(await dispatcher(publisher).dispatchPending()).toMatchObject({ dispatched: 5 });
    expect(payments.calls).toEqual([['x1', 'x3']]);
    expect(audit.calls).toEqual([['x4', 'x5']]);
    expect(alone).toEqual(['x2']);
  });

  test('even if a route leads to routes', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue([
      { id: 'x1', topic: 'payments.paid', payload: 1 },
      { id: 'x2', topic: 'payments.refunded', payload: 1 },
    ]);
    const kafka = new BatchPublisher();
    const outbox = dispatcher(routePublisher({ 'payments.*': routePublisher({ '*': kafka }) }));
    await outbox.dispatchPending();
    expect(kafka.calls).toEqual([['x1', 'x2']]);
  });

  test('a key over several routes keeps its order', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue([
      { id: 'A1', key: 'A', topic: 'payments.paid', payload: 1 },
      { id: 'A2', key: 'A', topic: 'mail.sent', payload: 1 },
      { id: 'A3', key: 'A', topic: 'payments.paid', payload: 1 },
      { id: 'x1', topic: 'payments.paid', payload: 1 },
    ]);
    const order: string[] = [];
    const payments = new BatchPublisher(async (rows) => {
      order.push(rows.map(({ id }) => id).join());
      return results(rows);
    });
    const publisher = routePublisher({ 'payments.*': payments, '*': async ({ id }) => order.push(id) });
    await dispatcher(publisher, { concurrency: 3 }).dispatchPending();
    expect(order).toEqual(['A1,x1', 'A2', 'A3']);
  });

  test('a row without a route dies, beside groups that are sent', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue([
      { id: 'x1', topic: 'unknown', payload: 1 },
      { id: 'x2', topic: 'payments.paid', payload: 1 },
    ]);
    const publisher = routePublisher({ 'payments.*': new BatchPublisher() });
    expect(await dispatcher(publisher).dispatchPending()).toMatchObject({ dead: 1, dispatched: 1 });
    expect((await row('x1')).lastError).toContain("no route for topic 'unknown'");
  });
});

test.each([
  ['without interceptors', []],
  ['with one that listens as well', [listening()]],
])('one signal may have a listener for each row of a group: %s', async (_, interceptors) => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  const { store, dispatcher } = openOutbox();
  const ids = Array.from({ length: 50 }, (_, n) => `x${n}`);
  await store.enqueue(entries(...ids));
  const publisher = new BatchPublisher(async (rows, { signal }) => {
    for (const _ of rows) signal.addEventListener('abort', () => {});
    return results(rows);
  });
  expect(await dispatcher(publisher, { interceptors }).dispatchPending()).toMatchObject({ dispatched: 50 });
  expect(publisher.calls).toEqual([ids]);
  expect(warn).not.toHaveBeenCalled();
});

function listening(): OutboxInterceptor {
  return {
    publish: (row, context, next) => {
      context.signal.addEventListener('abort', () => {});
      return next(row, context);
    },
  };
}

describe('a claim that is lost during a group', () => {
  function slowGroup(): {
    publisher: BatchPublisher;
    answer: ReturnType<typeof deferred>;
    signals: AbortSignal[];
  } {
    const answer = deferred();
    const signals: AbortSignal[] = [];
    const publisher = new BatchPublisher(async (rows, { signal }) => {
      signals.push(signal);
      signal.addEventListener('abort', () => answer.reject(signal.reason));
      await answer.promise;
      return results(rows);
    });
    return { publisher, answer, signals };
  }

  test('on some rows does not abort it; those rows end as fenced', async () => {
    const { store, dispatcher, clock } = openOutbox({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1', 'x2', 'x3'));
    const { publisher, answer, signals } = slowGroup();
    const dispatching = dispatcher(publisher).dispatchPending();
    await clock.idle();
    await store.requeue('x1');
    await store.requeue('x3');
    await clock.advance(20_000);
    expect(signals[0]?.aborted).toBe(false);
    answer.resolve();
    expect(await dispatching).toMatchObject({ dispatched: 1, fenced: 2 });
  });

  test('on all rows aborts it', async () => {
    const { store, dispatcher, clock } = openOutbox({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1', 'x2'));
    const { publisher, signals } = slowGroup();
    const dispatching = dispatcher(publisher).dispatchPending();
    await clock.idle();
    await store.requeue('x1');
    await store.requeue('x2');
    await clock.advance(20_000);
    expect(signals[0]?.aborted).toBe(true);
    expect(String(signals[0]?.reason)).toContain('was lost: another dispatcher took it, or it was requeued');
    expect(await dispatching).toMatchObject({ fetched: 2, fenced: 2 });
  });

  test('because it expired aborts it and says why', async () => {
    const { store, dispatcher, clock } = openOutbox(
      { claimTimeoutMs: 60_000 },
      (options, virtual) => new FaultyStore(options, virtual),
    );
    await store.enqueue(entries('x1', 'x2'));
    store.before.extendClaim = () => Promise.reject(new Error('database is away'));
    const { publisher, signals } = slowGroup();
    const hold = checkedBy(async (value) => {
      if (value.id === 'x1') await clock.wait(30_000);
      return { value };
    });
    const dispatching = dispatcher(publisher, { pipeline: hold, publishTimeoutMs: 39_000 }).dispatchPending();
    await clock.advance(59_999);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advance(1);
    expect(String(signals[0]?.reason)).toContain('it expired and could not be extended: database is away');
    expect(await dispatching).toMatchObject({ fetched: 2, failed: 2 });
  });
});

test('rows that the store could not decode are left out of the group', async () => {
  class Corrupt extends MemoryOutboxStore {
    override async fetchPending(limit: number): Promise<OutboxRow[]> {
      const rows = await super.fetchPending(limit);
      return rows.map((row) => (row.id === 'x1' ? { ...row, undecodable: 'no JSON' } : row));
    }
  }
  const { store, dispatcher } = openOutbox({}, (options) => new Corrupt(options));
  await store.enqueue(entries('x1', 'x2'));
  const publisher = new BatchPublisher();
  expect(await dispatcher(publisher).dispatchPending()).toMatchObject({ dead: 1, dispatched: 1 });
  expect(publisher.calls).toEqual([['x2']]);
});

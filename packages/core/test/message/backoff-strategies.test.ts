import { MemoryOutboxStore, MemoryTable, OutboxMemoryModule, VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { decide, outcomeOfError } from '../../src/dispatch/decide.js';
import { resolveConfig } from '../../src/dispatch/outbox-config.js';
import { EnqueuePipeline } from '../../src/enqueue/enqueue-pipeline.js';
import type { BackoffStrategies } from '../../src/message/backoff-strategies.js';
import type { BackoffOptions } from '../../src/message/retry-options.js';
import { assertRetryOptions, type RetryPolicy } from '../../src/message/retry-policy.js';
import { composeModules, type OutboxApp } from '../../src/modules/compose-modules.js';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import { OutboxModule, type OutboxModuleOptions } from '../../src/outbox-module.js';
import { OutboxStore } from '../../src/store/outbox-store.js';
import { entries, listen, openOutbox, refusal, rowWith } from '../outbox-fixture.js';

/** Document 003's strategy: the error's own wait, or else an exponential one. */
const backoffStrategies: BackoffStrategies = {
  'respect-retry-after': (attempts, error) => {
    const { retryAfter } = error as { retryAfter?: number };
    return retryAfter ? retryAfter * 1_000 : Math.min(30_000, 2_000 * 2 ** attempts);
  },
};
const named: BackoffOptions = { type: 'respect-retry-after' };
const UNLIMITED: RetryPolicy = { maxAttempts: Number.POSITIVE_INFINITY };

describe('a named backoff strategy', () => {
  test('chosen by an entry decides the delay, based on the error', async () => {
    const { clock, store, dispatcher, row } = openOutbox();
    const failures = [Object.assign(new Error('rate limited'), { retryAfter: 7 }), new Error('down')];
    const publish = dispatcher(() => Promise.reject(failures.shift()), { backoffStrategies });
    await store.enqueue({ ...entries('x1')[0], retry: { backoff: named } } as never);
    await publish.dispatchPending();
    expect((await row('x1')).availableAt).toEqual(new Date(clock.now() + 7_000));
    await clock.advance(7_000);
    await publish.dispatchPending();
    expect((await row('x1')).availableAt).toEqual(new Date(clock.now() + 8_000));
    expect((await row('x1')).retry).toEqual({ backoff: named });
  });

  test('can be configured as the default, and receives attempts, error and row', () => {
    const seen: unknown[] = [];
    const strategies: BackoffStrategies = {
      mine: (...args) => {
        seen.push(...args);
        return 12.6;
      },
    };
    const error = new Error('no');
    const row = rowWith({ attempts: 2 });
    const policy = resolveConfig({ backoff: { type: 'mine' }, backoffStrategies: strategies });
    expect(decide(error, row, policy)).toEqual({ kind: 'retry', delayMs: 13 });
    expect(seen).toEqual([3, error, row]);
  });

  test('that throws or returns an invalid delay delays the row by an hour, as any backoff function does', () => {
    const strategies = {
      throws: () => {
        throw new Error('oops');
      },
      rubbish: () => Number.NaN,
    };
    const outcomes = ['throws', 'rubbish'].map((type) =>
      outcomeOfError(new Error('no'), rowWith({ retry: { backoff: { type } } }), {
        ...UNLIMITED,
        backoffStrategies: strategies,
      }),
    );
    expect(outcomes).toMatchObject([
      { kind: 'failed', delayMs: 3_600_000, error: 'no (and the backoff function failed: oops)' },
      {
        kind: 'failed',
        delayMs: 3_600_000,
        error: expect.stringContaining('returned NaN, not milliseconds'),
      },
    ]);
  });

  test.each(['unknown', 'toString', '__proto__'])(
    'that this process does not know (%s) kills the row before it is attempted, and no other',
    async (type) => {
      const published: string[] = [];
      const { store, dispatcher, row } = openOutbox();
      const [x1, x2] = entries('x1', 'x2');
      await store.enqueue([{ ...x1, retry: { backoff: { type } } }, x2] as never);
      const summary = await dispatcher(async ({ id }) => void published.push(id), {
        backoffStrategies,
      }).dispatchPending();
      expect(summary).toMatchObject({ fetched: 2, dispatched: 1, dead: 1 });
      expect(published).toEqual(['x2']);
      expect(await row('x1')).toMatchObject({
        attempts: 0,
        deadReason: 'undecodable',
        lastError: expect.stringContaining(`backoff strategy '${type}' is not configured in this process; `),
      });
    },
  );

  test('that is unknown is reported as a dead row, not as trouble', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue({ ...entries('x1')[0], retry: { backoff: named } } as never);
    const { events, told } = recorded();
    await dispatcher(async () => {}, { events }).dispatchPending();
    expect(told.map(({ signal }) => signal)).toEqual(['dead']);
  });
});

function recorded() {
  const events = new DispatchEvents();
  return { events, told: listen(events, 'dead', 'failed', 'firstFailure', 'trouble') };
}

describe('a configuration is rejected', () => {
  const ms = (): number => 5;

  test.each<[string, object, 'INVALID_CONFIG' | 'INVALID_RETRY_POLICY', string]>([
    ['that takes a name of ours', { backoffStrategies: { fixed: ms } }, 'INVALID_CONFIG', "'fixed'"],
    [
      'that takes our other name',
      { backoffStrategies: { exponential: ms } },
      'INVALID_CONFIG',
      "'exponential'",
    ],
    ['with an empty name', { backoffStrategies: { '': ms } }, 'INVALID_CONFIG', '1 to 100 printable'],
    [
      'with what is not a function',
      { backoffStrategies: { mine: 5 } },
      'INVALID_CONFIG',
      "'mine' must be a function",
    ],
    ['with a list', { backoffStrategies: [ms] }, 'INVALID_CONFIG', 'must be an object'],
    ['with null', { backoffStrategies: null }, 'INVALID_CONFIG', 'must be an object'],
    [
      'whose own backoff names none of its strategies',
      { backoff: { type: 'mne' }, backoffStrategies: { mine: ms } },
      'INVALID_RETRY_POLICY',
      "OutboxConfig: backoff strategy 'mne' is not configured; add it to backoffStrategies, or use 'mine'",
    ],
  ])('%s', (_name, config, code, message) => {
    expect(() => OutboxModule.forRoot(config)).toThrow(refusal(code, message));
  });
});

describe('at enqueue', () => {
  const store = (options: OutboxModuleOptions): { app: OutboxApp; store: OutboxStore } => {
    const app = composeModules([
      OutboxModule.forRoot(options),
      OutboxMemoryModule.forRoot({ table: new MemoryTable(new VirtualClock()) }),
    ]);
    return { app, store: app.get(OutboxStore) };
  };
  const entry = (type: string) => ({ topic: 'a', payload: {}, retry: { backoff: { type } } });

  test('an application rejects a name that it has not configured, and stores nothing', async () => {
    const configured = store({ backoffStrategies });
    await configured.store.enqueue(entry('respect-retry-after'));
    await expect(configured.store.enqueue([entry('respect-retry-after'), entry('respect')])).rejects.toEqual(
      refusal(
        'INVALID_RETRY_POLICY',
        "entry 1: backoff strategy 'respect' is not configured; add it to backoffStrategies, or use 'respect-retry-after'",
      ),
    );
    expect(await configured.store.count()).toMatchObject({ total: 1 });
    await expect(store({}).store.enqueue(entry('mine'))).rejects.toEqual(
      refusal(
        'INVALID_RETRY_POLICY',
        "backoff strategy 'mine' is not configured; add it to backoffStrategies",
      ),
    );
  });

  test('a replay with a name that is not configured is rejected, and nothing is requeued', async () => {
    const { store: outbox } = store({ backoffStrategies });
    await outbox.enqueue({ topic: 'a', payload: {}, id: 'x1' });
    await outbox.markDead('x1', 'no');
    const retry = (type: string) => ({ retry: { backoff: { type } } });
    const unknown = refusal('INVALID_RETRY_POLICY', "requeue: backoff strategy 'respect' is not configured;");
    await expect(outbox.requeue('x1', retry('respect'))).rejects.toEqual(unknown);
    await expect(outbox.requeueWhere({}, 5, retry('respect'))).rejects.toEqual(unknown);
    expect(await outbox.count()).toMatchObject({ dead: 1 });
    await outbox.requeue('x1', retry('respect-retry-after'));
    expect(await outbox.peek({ id: 'x1' }, 1)).toMatchObject([retry('respect-retry-after')]);
  });

  test('a process that only enqueues knows the names if it has the strategies', async () => {
    await store({ worker: false }).store.enqueue(entry('mine'));
    await new MemoryOutboxStore().enqueue(entry('mine'));
    await expect(store({ worker: false, backoffStrategies }).store.enqueue(entry('mine'))).rejects.toEqual(
      refusal('INVALID_RETRY_POLICY', "'mine' is not configured"),
    );
    const pipeline = new EnqueuePipeline({ backoffStrategies });
    await expect(new MemoryOutboxStore({ pipeline }).enqueue(entry('mine'))).rejects.toEqual(
      refusal('INVALID_RETRY_POLICY', "'mine' is not configured"),
    );
  });

  test.each<[string, unknown, string]>([
    ['no name', { type: '' }, 'backoff.type must be'],
    ['a name with a NUL', { type: 'a\u0000' }, 'backoff.type must be'],
    ['a very long name', { type: 'x'.repeat(101) }, 'backoff.type must be'],
    ['a misspelt type', { type: 'exponental', delayMs: 5 }, "'fixed' or 'exponential'"],
    ['jitter of its own', { type: 'mine', jitter: 'full' }, "'fixed' or 'exponential'"],
  ])('%s is rejected everywhere', (_name, backoff, message) => {
    expect(() => assertRetryOptions({ backoff: backoff as BackoffOptions }, 'entry 0')).toThrow(
      refusal('INVALID_RETRY_POLICY', message),
    );
  });
});

describe('retryAfter of an error', () => {
  const delayMs = (error: unknown): unknown => decide(error, rowWith(), UNLIMITED);

  test('is a minimum delay, in seconds', () => {
    expect(delayMs({ retryAfter: 30 })).toEqual({ kind: 'retry', delayMs: 30_000 });
    expect(delayMs(Object.assign(new Error('busy'), { retryAfter: 0.5 }))).toEqual({
      kind: 'retry',
      delayMs: 500,
    });
    const slower: RetryPolicy = { ...UNLIMITED, backoff: { type: 'fixed', delayMs: 60_000 } };
    expect(decide({ retryAfter: 30 }, rowWith(), slower)).toMatchObject({ delayMs: 60_000 });
  });

  test('gives way to retryAfterMs', () => {
    expect(delayMs({ retryAfter: 30, retryAfterMs: 250 })).toMatchObject({ delayMs: 250 });
    expect(delayMs({ retryAfter: 30, retryAfterMs: Number.NaN })).toMatchObject({ delayMs: 30_000 });
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -5, '30', null, new Date()])(
    'of %s is ignored',
    (value) => {
      expect(delayMs({ retryAfter: value })).toEqual({ kind: 'retry', delayMs: 0 });
    },
  );
});

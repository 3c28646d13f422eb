import { MemoryOutboxStore } from '@postcommit/store-memory';
import { describe, expect, test, vi } from 'vitest';
import { assertLimit, assertOlderThan } from '../../src/store/outbox-store.js';
import { openOutbox, refusal } from '../outbox-fixture.js';

const entry = { id: 'a', topic: 'order.paid', payload: {} };

describe('manual steps', () => {
  test('markDispatched returns the ids that changed', async () => {
    const { store, row } = openOutbox();
    await store.enqueue(entry);
    expect(await store.markDispatched(['a', 'unknown'])).toEqual(['a']);
    expect((await row('a')).dispatchedAt).toBeDefined();
  });

  test('markFailed counts an attempt, keeps the text and delays the row', async () => {
    const { store, row, clock } = openOutbox();
    await store.enqueue(entry);
    expect(await store.markFailed('a', 'no\u0000good', { delayMs: 1_500.4 })).toBe(true);
    expect(await row('a')).toMatchObject({
      attempts: 1,
      lastError: 'no\ufffdgood',
      availableAt: new Date(clock.now() + 1_500),
    });
    expect(await store.markFailed('a', 'again')).toBe(true);
    expect((await row('a')).availableAt).toEqual(new Date(clock.now()));
    expect(await store.markFailed('unknown', 'no')).toBe(false);
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])(
    'markFailed refuses a delay of %s',
    async (delayMs) => {
      const { store, row } = openOutbox();
      await store.enqueue(entry);
      await expect(store.markFailed('a', 'no', { delayMs })).rejects.toThrow(
        refusal('INVALID_ARGUMENT', `delayMs must be 0 or more, got ${delayMs}`),
      );
      expect((await row('a')).attempts).toBe(0);
    },
  );

  test('markDead keeps the reason, exhausted by default', async () => {
    const { store, row } = openOutbox();
    await store.enqueue([entry, { ...entry, id: 'b' }]);
    expect(await store.markDead('a', 'enough')).toBe(true);
    expect(await store.markDead('b', 'never', { reason: 'permanent' })).toBe(true);
    expect(await store.markDead('unknown', 'no')).toBe(false);
    expect(await row('a')).toMatchObject({ deadReason: 'exhausted', lastError: 'enough' });
    expect(await row('b')).toMatchObject({ deadReason: 'permanent', lastError: 'never' });
  });

  test('with a token they change only rows that it still claims', async () => {
    const { store, row } = openOutbox();
    await store.enqueue(entry);
    const [claimed] = await store.fetchPending(1);
    const claimToken = claimed?.claimToken ?? '';
    expect(await store.markDispatched(['a'], 'another')).toEqual([]);
    expect(await store.markFailed('a', 'no', { claimToken: 'another' })).toBe(false);
    expect(await store.markDead('a', 'no', { claimToken: 'another' })).toBe(false);
    expect(await store.release(['a'], 'another')).toEqual([]);
    expect(await store.release(['a'], claimToken)).toEqual(['a']);
    expect(await row('a')).toMatchObject({ attempts: 0 });
    expect(await store.fetchPending(1)).toHaveLength(1);
  });
});

describe('enqueueWith', () => {
  test.each([undefined, null])('rejects %s as a transaction and says what to do', async (tx) => {
    const { store } = openOutbox();
    await expect(store.enqueueWith(tx as never, entry)).rejects.toThrow(
      refusal(
        'INVALID_TRANSACTION',
        `enqueueWith was given ${tx}; pass the handle of your open transaction, or call enqueue()`,
      ),
    );
  });
});

describe('arguments', () => {
  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', undefined])(
    'a limit of %s is refused',
    (limit) => {
      expect(() => assertLimit(limit as number)).toThrow(
        refusal('INVALID_ARGUMENT', `limit must be a whole number from 1, got ${limit}`),
      );
    },
  );

  test.each([
    { ageMs: -1 },
    { ageMs: Number.NaN },
    { ageMs: Number.POSITIVE_INFINITY },
    {},
    null,
    undefined,
    new Date('x'),
  ])('an age of %s is refused', (olderThan) => {
    expect(() => assertOlderThan(olderThan as Date)).toThrow(
      refusal(
        'INVALID_ARGUMENT',
        'olderThan must be a valid Date, { ageMs } of 0 or more, or { keepLatest }, a whole number from 0',
      ),
    );
  });

  test('valid ones are accepted', () => {
    expect(() => assertLimit(1)).not.toThrow();
    expect(() => assertOlderThan(new Date())).not.toThrow();
    expect(() => assertOlderThan({ ageMs: 0 })).not.toThrow();
  });

  test('claims last five minutes by default', () => {
    expect(new MemoryOutboxStore().claimTimeoutMs).toBe(300_000);
    expect(new MemoryOutboxStore({ claimTimeoutMs: 5 }).claimTimeoutMs).toBe(5);
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5'])('claimTimeoutMs %s is refused', (value) => {
    expect(() => new MemoryOutboxStore({ claimTimeoutMs: value as number })).toThrow(
      refusal('INVALID_CONFIG', `claimTimeoutMs must be at least 1 and below 2^31, got ${value}`),
    );
  });

  test('a claimTimeoutMs beyond the maximum of a timer is rejected: the timer would fire at once', () => {
    expect(() => new MemoryOutboxStore({ claimTimeoutMs: 2 ** 31 })).toThrow(
      refusal('INVALID_CONFIG', 'claimTimeoutMs'),
    );
  });
});

describe('problems that no call reports', () => {
  class LossyStore extends MemoryOutboxStore {
    loseConnection(): void {
      this.reportProblem(new Error('connection lost: password=hunter2'));
    }
  }

  test('reach every listener until it unsubscribes', () => {
    const store = new LossyStore();
    const heard: unknown[] = [];
    const unsubscribe = store.onProblem((error) => heard.push(error));
    const stay = vi.fn();
    store.onProblem(stay);
    store.loseConnection();
    unsubscribe();
    store.loseConnection();
    expect(heard).toEqual([new Error('connection lost: password=hunter2')]);
    expect(stay).toHaveBeenCalledTimes(2);
  });

  test('become a process warning if nobody listens', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    new LossyStore().loseConnection();
    expect(warn).toHaveBeenCalledWith('connection lost: password=***', 'OutboxWarning');
    warn.mockRestore();
  });
});

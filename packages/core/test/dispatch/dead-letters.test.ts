import type { MemoryOutboxStore } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import type { DispatcherOptions } from '../../src/dispatch/dispatch-engine.js';
import { EnqueuePipeline } from '../../src/enqueue/enqueue-pipeline.js';
import type { DeadReason } from '../../src/message/dead-reason.js';
import { PermanentError } from '../../src/message/errors.js';
import type { OutboxRow, RowFilter } from '../../src/message/outbox-row.js';
import { type CountingClock, entries, openOutbox, refusal, scripted } from '../outbox-fixture.js';

const HOUR = 3_600_000;

describe('the engine can produce every dead reason', () => {
  const odd = new EnqueuePipeline({
    topics: {
      'order.paid': {
        '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'is odd' }] }) },
      },
    },
  });

  async function lettersOf(
    failure: unknown,
    options: DispatcherOptions = {},
    prepare: (store: MemoryOutboxStore, clock: CountingClock) => Promise<unknown> = async () => {},
  ): Promise<OutboxRow[]> {
    const { store, dispatcher, clock } = openOutbox({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1'));
    await prepare(store, clock);
    const outbox = dispatcher(scripted(failure === undefined ? {} : { x1: failure }), options);
    for (let round = 0; round < 3; round++) await outbox.dispatchPending();
    return store.peek({ state: 'dead' }, 10);
  }

  async function crash(store: MemoryOutboxStore, clock: CountingClock): Promise<void> {
    for (let time = 0; time < 5; time++) {
      await store.fetchPending(1);
      await clock.advance(60_000);
    }
  }

  test.each<[DeadReason, () => Promise<OutboxRow[]>, string | undefined, number]>([
    ['exhausted', () => lettersOf(new Error('busy'), { maxAttempts: 3 }), 'busy', 3],
    ['permanent', () => lettersOf(new PermanentError('bad request')), 'bad request', 1],
    [
      'no-listener',
      () => lettersOf(new PermanentError('nobody listens', { reason: 'no-listener' })),
      'nobody listens',
      1,
    ],
    [
      'crashed',
      () => lettersOf(undefined, {}, crash),
      'its claim expired 5 times in a row; it may be crashing the process that publishes it',
      0,
    ],
    ['undecodable', () => lettersOf(undefined, { pipeline: odd }), 'payload: is odd', 0],
    ['cancelled', () => lettersOf(undefined, {}, (store) => store.cancel('x1')), undefined, 0],
  ])('%s', async (reason, letters, lastError, attempts) => {
    const [letter, ...others] = await letters();
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ id: 'x1', deadReason: reason, attempts, deadAt: expect.any(Date) });
    expect(letter?.lastError).toBe(lastError);
  });
});

interface Graveyard {
  readonly clock: CountingClock;
  readonly store: MemoryOutboxStore;
  readonly start: Date;
  row(id: string): Promise<OutboxRow>;
  /** Publishes due rows, and returns their ids. */
  publish(): Promise<string[]>;
}

/**
 * One dead row an hour, over four hours: x1 and x2 of `mail` were rate limited, x3 of `pay` too, x4 of `pay` was
 * refused. x5 is dispatched, x6 pending.
 */
async function graveyard(): Promise<Graveyard> {
  const { store, dispatcher, clock, row } = openOutbox();
  const start = new Date(clock.now());
  const failures = {
    x1: new Error('Rate limited'),
    x2: new Error('Rate limited'),
    x3: new Error('Rate limited'),
    x4: new PermanentError('Bad request: 100% wrong'),
  };
  const outbox = dispatcher(scripted(failures), { maxAttempts: 1 });
  for (const id of ['x1', 'x2', 'x3', 'x4', 'x5']) {
    const topic = id === 'x1' || id === 'x2' ? 'mail' : 'pay';
    await store.enqueue({ id, topic, payload: { id } });
    await outbox.dispatchPending();
    await clock.advance(HOUR);
  }
  await store.enqueue({
    id: 'x6',
    topic: 'mail',
    payload: {},
    availableAt: new Date(clock.now() + 9 * HOUR),
  });
  const publish = async (): Promise<string[]> => {
    const publisher = scripted();
    await dispatcher(publisher).dispatchPending();
    return publisher.published;
  };
  return { clock, store, start, row, publish };
}

describe('inspecting dead letters', () => {
  test('lists each with its payload, error, reason and time, latest first', async () => {
    const { store, start } = await graveyard();
    const letters = await store.peek({ state: 'dead' }, 10);
    expect(letters.map(({ id }) => id)).toEqual(['x4', 'x3', 'x2', 'x1']);
    expect(letters.at(-1)).toMatchObject({
      topic: 'mail',
      payload: { id: 'x1' },
      lastError: 'Rate limited',
      deadReason: 'exhausted',
      deadAt: start,
      attempts: 1,
    });
  });

  test('lists no more than the limit, and changes nothing', async () => {
    const { store } = await graveyard();
    const before = await store.count();
    expect(await store.peek({ state: 'dead' }, 2)).toHaveLength(2);
    expect(await store.count()).toEqual(before);
    expect(before).toEqual({ pending: 1, dispatched: 1, dead: 4, total: 6 });
  });
});

describe('replaying one dead letter', () => {
  test('publishes it again, with all its attempts and without its history', async () => {
    const { store, row, publish } = await graveyard();
    await store.requeue('x4');
    const replayed = await row('x4');
    expect(replayed).toMatchObject({ attempts: 0, retakes: 0, payload: { id: 'x4' } });
    for (const gone of ['deadAt', 'deadReason', 'lastError', 'claimToken'])
      expect(replayed).not.toHaveProperty(gone);
    expect(await publish()).toEqual(['x4']);
    expect(await row('x4')).toHaveProperty('dispatchedAt');
  });

  test('is rejected for an unknown id', async () => {
    const { store } = await graveyard();
    await expect(store.requeue('x99')).rejects.toThrow(refusal('ROW_NOT_FOUND', "no row with id 'x99'"));
  });

  test('that fails again dies again', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const outbox = dispatcher(scripted({ x1: new Error('still broken') }), { maxAttempts: 2 });
    for (let round = 0; round < 2; round++) await outbox.dispatchPending();
    await store.requeue('x1');
    await outbox.dispatchPending();
    expect(await row('x1')).toMatchObject({ attempts: 1 });
    await outbox.dispatchPending();
    expect(await row('x1')).toMatchObject({ attempts: 2, deadReason: 'exhausted' });
  });

  test('puts a keyed row behind the pending rows of its key', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('A1', 'A2'));
    await dispatcher(scripted({ A1: new PermanentError('no') })).dispatchPending(1);
    await store.requeue('A1');
    const publisher = scripted();
    await dispatcher(publisher).dispatchPending();
    expect(publisher.published).toEqual(['A2', 'A1']);
  });
});

describe('replaying dead letters by filter', () => {
  const at = (start: Date, hours: number): Date => new Date(start.getTime() + hours * HOUR);

  test.each<[string, (start: Date) => RowFilter, string[]]>([
    ['nothing else: all dead ones', () => ({}), ['x1', 'x2', 'x3', 'x4']],
    ['topic', () => ({ topic: 'mail' }), ['x1', 'x2']],
    ['error text', () => ({ error: 'Rate limited' }), ['x1', 'x2', 'x3']],
    ['part of the error text', () => ({ error: 'limit' }), ['x1', 'x2', 'x3']],
    ['error text with signs that databases give a meaning', () => ({ error: '100% w' }), ['x4']],
    ['error text with such a sign that is not in it', () => ({ error: 'R%d' }), []],
    ['error text, which is compared exactly', () => ({ error: 'rate limited' }), []],
    ['reason', () => ({ reason: 'permanent' }), ['x4']],
    ['the time they died, from', (start) => ({ deadAfter: at(start, 2) }), ['x3', 'x4']],
    ['the time they died, until', (start) => ({ deadBefore: at(start, 2) }), ['x1', 'x2']],
    ['a range of time', (start) => ({ deadAfter: at(start, 1), deadBefore: at(start, 3) }), ['x2', 'x3']],
    ['the time they were enqueued', (start) => ({ createdAfter: at(start, 3) }), ['x4']],
    ['several at once', () => ({ topic: 'pay', error: 'Rate limited' }), ['x3']],
    ['a topic that has none', () => ({ topic: 'order.paid' }), []],
  ])('by %s', async (_name, filter, ids) => {
    const { store, start, publish } = await graveyard();
    expect(await store.requeueWhere(filter(start), 100)).toBe(ids.length);
    expect(await publish()).toEqual(ids);
    expect(await store.count()).toMatchObject({ dead: 4 - ids.length });
  });

  test('is bounded, oldest first, and returns how many: repeat until none is left', async () => {
    const { store, publish } = await graveyard();
    expect(await store.requeueWhere({}, 3)).toBe(3);
    expect(await publish()).toEqual(['x1', 'x2', 'x3']);
    expect(await store.requeueWhere({}, 3)).toBe(1);
    expect(await store.requeueWhere({}, 3)).toBe(0);
  });

  test.each([0, -1, 1.5, Number.NaN])('rejects a limit of %s', async (limit) => {
    const { store } = await graveyard();
    await expect(store.requeueWhere({}, limit)).rejects.toThrow(
      refusal('INVALID_ARGUMENT', 'limit must be a whole number from 1'),
    );
    expect(await store.count()).toMatchObject({ dead: 4 });
  });

  test('skips dispatched and pending rows unless the filter names their state', async () => {
    const { store, publish } = await graveyard();
    await store.requeueWhere({}, 100);
    expect(await publish()).not.toContain('x5');
    expect(await store.requeueWhere({ state: 'dispatched', topic: 'pay' }, 1)).toBe(1);
  });
});

describe('discarding dead letters', () => {
  test('deletes them and returns how many; rows that are not dead stay', async () => {
    const { store } = await graveyard();
    expect(await store.discard(['x1', 'x3', 'x5', 'x6', 'x99'])).toBe(2);
    expect(await store.count()).toEqual({ pending: 1, dispatched: 1, dead: 2, total: 4 });
    await expect(store.requeue('x1')).rejects.toThrow(refusal('ROW_NOT_FOUND', 'x1'));
    expect(await store.discard([])).toBe(0);
  });

  test('never happens automatically, however old they are', async () => {
    const { clock, store, publish } = await graveyard();
    await clock.advance(10_000 * HOUR);
    await publish();
    await store.purgeDispatched({ ageMs: 0 });
    expect(await store.count()).toMatchObject({ dead: 4 });
  });

  test('by age deletes only rows that died before it', async () => {
    const { store } = await graveyard();
    expect(await store.purgeDead({ ageMs: 3.5 * HOUR })).toBe(2);
    expect((await store.peek({ state: 'dead' }, 10)).map(({ id }) => id)).toEqual(['x4', 'x3']);
  });
});

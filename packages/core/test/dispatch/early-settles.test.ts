import { describe, expect, test } from 'vitest';
import { entries, FaultyStore, openOutbox } from '../outbox-fixture.js';

const rows = entries(...Array.from({ length: 50 }, (_, index) => `x${index}`));

/** A store with 50 rows, and a dispatcher whose publishes take `publishMs` each. */
async function open(
  publishMs: number,
  options: { fails?: (id: string) => boolean; concurrency?: number } = {},
) {
  const outbox = openOutbox({ claimTimeoutMs: 30_000 }, (all, clock) => new FaultyStore(all, clock));
  const { clock, store } = outbox;
  await store.enqueue(rows);
  const ended: string[] = [];
  const dispatcher = outbox.dispatcher(
    async ({ id }) => {
      if (publishMs > 0) await clock.wait(publishMs);
      ended.push(id);
      if (options.fails?.(id)) throw new Error('no');
    },
    { concurrency: options.concurrency ?? 1, publishTimeoutMs: 10_000 },
  );
  const unrecorded = async (): Promise<number> => ended.length - (await store.count()).dispatched;
  return { ...outbox, ended, dispatcher, unrecorded };
}

describe('a batch of slow publishes', () => {
  test.each([
    [1, 3],
    [5, 10],
  ])('with concurrency %i leaves few of its published rows unrecorded', async (concurrency, most) => {
    const { clock, dispatcher, unrecorded } = await open(100, { concurrency });
    const dispatching = dispatcher.dispatchPending();
    let mostUnrecorded = 0;
    for (let step = 0; step < 49 / concurrency; step++) {
      await clock.advance(99);
      mostUnrecorded = Math.max(mostUnrecorded, await unrecorded());
      await clock.advance(1);
    }
    await clock.advance(1_000);
    expect(mostUnrecorded).toBeLessThanOrEqual(most);
    expect(await dispatching).toEqual({ fetched: 50, dispatched: 50, failed: 0, dead: 0, fenced: 0 });
  });

  test('settles at most four times a second', async () => {
    const { clock, store, dispatcher } = await open(100);
    const dispatching = dispatcher.dispatchPending();
    await clock.advance(5_000);
    await dispatching;
    expect(store.timesOf('settle').length).toBeLessThanOrEqual(5 * 4 + 1);
  });

  test('records failed rows at its end, with the rows behind them', async () => {
    const { clock, store, dispatcher } = await open(100, { fails: (id) => id === 'x3' });
    const dispatching = dispatcher.dispatchPending();
    await clock.advance(4_900);
    expect(
      store.calls.flatMap(({ call, asked }) => (call === 'settle' ? [asked] : [])).flat(),
    ).not.toContainEqual(expect.objectContaining({ kind: 'failed' }));
    await clock.advance(1_000);
    expect(await dispatching).toMatchObject({ dispatched: 49, failed: 1 });
  });

  test('records each row once', async () => {
    const { clock, store, dispatcher } = await open(100);
    const dispatching = dispatcher.dispatchPending();
    await clock.advance(6_000);
    await dispatching;
    const asked = store.calls.flatMap(({ call, asked }) =>
      call === 'settle' ? (asked as { id: string }[]) : [],
    );
    expect(asked.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  });

  test('does not extend the claims on rows that are being recorded', async () => {
    const { clock, store, dispatcher } = await open(1_000);
    store.after.settle = () => clock.wait(3_000);
    const dispatching = dispatcher.dispatchPending();
    await clock.advance(12_000);
    const settled = store.calls.filter(({ call, atMs }) => call === 'settle' && atMs <= 10_000);
    const [extended] = store.calls.filter(({ call }) => call === 'extendClaim');
    expect(extended).toBeDefined();
    const ids = settled.flatMap(({ asked }) => (asked as { id: string }[]).map(({ id }) => id));
    expect(ids.length).toBeGreaterThan(3);
    expect(ids.filter((id) => (extended?.asked as string[] | undefined)?.includes(id))).toEqual([]);
    await clock.advance(60_000);
    await dispatching;
  });

  test('records rows at its end that could not be recorded on the way, and keeps their claims', async () => {
    const { clock, store, dispatcher } = await open(1_000);
    store.before.settle = () => Promise.reject(new Error('no'));
    const dispatching = dispatcher.dispatchPending();
    await clock.advance(45_000);
    const extended = store.calls.filter(({ call }) => call === 'extendClaim');
    expect(extended.at(-1)?.asked).toHaveLength(50);
    store.comeBack();
    await clock.advance(6_000);
    expect(await dispatching).toMatchObject({ dispatched: 50, fenced: 0 });
  });

  test('records nothing for rows that could not be started', async () => {
    const { clock, store, dispatcher } = openOutbox({}, (all, clock) => new FaultyStore(all, clock));
    await store.enqueue(rows);
    // It published for half a second, ignores its signal and keeps the only slot.
    const hangs = dispatcher(() => clock.wait(600_000), { publishTimeoutMs: 500 });
    const dispatching = hangs.dispatchPending();
    await clock.advance(1_000);
    expect(await dispatching).toEqual({ fetched: 50, dispatched: 0, failed: 1, dead: 0, fenced: 0 });
    expect(store.timesOf('settle')).toHaveLength(1);
    await clock.advance(600_000);
  });

  test('counts rows as fenced that others had taken', async () => {
    const { clock, store, dispatcher } = await open(100);
    const dispatching = dispatcher.dispatchPending();
    await clock.advance(50);
    await store.requeue('x0');
    await clock.advance(6_000);
    expect(await dispatching).toMatchObject({ fetched: 50, dispatched: 49, fenced: 1 });
  });
});

describe('a batch of fast publishes', () => {
  test('is recorded in one statement', async () => {
    const { clock, store, dispatcher } = await open(1);
    const dispatching = dispatcher.dispatchPending();
    await clock.advance(1_000);
    await dispatching;
    expect(store.timesOf('settle')).toHaveLength(1);
  });
});

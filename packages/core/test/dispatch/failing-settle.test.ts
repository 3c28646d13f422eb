import { describe, expect, test } from 'vitest';
import { OutboxDispatcher } from '../../src/dispatch/outbox-dispatcher.js';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import { type CountingClock, entries, FaultyStore, listen, openOutbox, scripted } from '../outbox-fixture.js';

interface Opened {
  readonly clock: CountingClock;
  readonly store: FaultyStore;
  readonly events: DispatchEvents;
  readonly published: string[];
  readonly dispatcher: OutboxDispatcher;
}

async function open(claimTimeoutMs = 60_000): Promise<Opened> {
  const { clock, store } = openOutbox(
    { claimTimeoutMs },
    (options, virtual) => new FaultyStore(options, virtual),
  );
  await store.enqueue(entries('x1', 'x2', 'A1'));
  const events = new DispatchEvents();
  const publisher = scripted({ x2: new Error('no') });
  const options = {
    clock,
    events,
    publishTimeoutMs: 1_000,
    backoff: { type: 'fixed', delayMs: 5_000 },
  } as const;
  const dispatcher = new OutboxDispatcher(store, publisher, options);
  return { clock, store, events, published: publisher.published, dispatcher };
}

/** The database is away for the first `times` settles. */
function failSettles(store: FaultyStore, times: number): void {
  let left = times;
  store.before.settle = () => (left-- > 0 ? Promise.reject(new Error('database is away')) : undefined);
}

describe('if the settle of dispatchPending fails', () => {
  test('and succeeds at the third try, nothing is lost or published twice', async () => {
    const { clock, store, events, published, dispatcher } = await open();
    const heard = listen(events, 'trouble', 'failed', 'fenced', 'batch');
    failSettles(store, 2);
    // The ten seconds begin with the first settle.
    await clock.advance(30_000);
    const dispatching = dispatcher.dispatchPending();
    await clock.advance(150);
    const summary = { fetched: 3, dispatched: 2, failed: 1, dead: 0, fenced: 0 };
    expect(await dispatching).toEqual(summary);
    expect(store.timesOf('settle')).toEqual([30_000, 30_050, 30_150]);
    expect(heard.map(({ signal }) => signal)).toEqual(['trouble', 'trouble', 'failed', 'batch']);
    expect(await store.count()).toMatchObject({ dispatched: 2, pending: 1 });
    await clock.advance(3_600_000);
    await dispatcher.dispatchPending();
    expect(published.toSorted()).toEqual(['A1', 'x1', 'x2', 'x2']);
  });

  test('it is retried for ten seconds, then the call rejects with the error of the store', async () => {
    const { clock, store, events, published, dispatcher } = await open();
    const heard = listen(events, 'trouble', 'failed', 'batch');
    store.before.settle = () => Promise.reject(new Error('database is away'));
    let endedAtMs = 0;
    const dispatching = dispatcher.dispatchPending().finally(() => {
      endedAtMs = clock.monotonicMs();
    });
    const rejected = expect(dispatching).rejects.toThrow('database is away');
    await clock.advance(60_000);
    await rejected;
    // The next retry would be after more than ten seconds.
    expect(endedAtMs).toBe(9_150);
    // At the end, what was published is tried alone.
    expect(store.timesOf('settle')).toEqual([0, 50, 150, 350, 750, 1_550, 3_150, 5_150, 7_150, 9_150, 9_150]);
    expect(heard.map(({ signal }) => signal)).toEqual(Array(9).fill('trouble'));
    expect(published).toEqual(['x1', 'x2', 'A1']);
  });

  test('for good, its rows are left to the next claim', async () => {
    const { clock, store, published, dispatcher } = await open();
    store.before.settle = () => Promise.reject(new Error('database is away'));
    const rejected = expect(dispatcher.dispatchPending()).rejects.toThrow('database is away');
    await clock.advance(10_000);
    await rejected;
    store.comeBack();
    expect(await store.count()).toMatchObject({ pending: 3 });
    await clock.advance(60_000);
    for (const _ of [...published]) await dispatcher.dispatchPending();
    await clock.advance(60_000);
    expect(await store.count()).toMatchObject({ dispatched: 2, pending: 1 });
  });

  test('it is retried no longer than the claim lasts', async () => {
    const { clock, store, dispatcher } = await open(4_000);
    store.before.settle = () => Promise.reject(new Error('database is away'));
    const rejected = expect(dispatcher.dispatchPending()).rejects.toThrow('database is away');
    await clock.advance(10_000);
    await rejected;
    expect(Math.max(...store.timesOf('settle'))).toBeLessThan(4_000);
  });
});

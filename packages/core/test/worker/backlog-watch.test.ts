import { describe, expect, test } from 'vitest';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import { BacklogWatch } from '../../src/worker/backlog-watch.js';
import { type CountingClock, deferred, entries, FaultyStore, listen, openOutbox } from '../outbox-fixture.js';

function watch(threshold: number): {
  clock: CountingClock;
  store: FaultyStore;
  watch: BacklogWatch;
  heard: ReturnType<typeof listen<'backlog'>>;
} {
  const { clock, store } = openOutbox({}, (options, virtual) => new FaultyStore(options, virtual));
  const events = new DispatchEvents();
  const heard = listen(events, 'backlog');
  return { clock, store, watch: new BacklogWatch(store, events, clock, threshold), heard };
}

describe('BacklogWatch', () => {
  test('checks every fifteen seconds and reports when enough rows are due', async () => {
    const { clock, store, watch: backlog, heard } = watch(3);
    await store.enqueue(entries('x1', 'x2', 'x3', 'x4'));
    backlog.start();
    await clock.advance(14_999);
    expect(heard).toEqual([]);
    await clock.advance(1);
    expect(heard.map(({ told }) => told)).toEqual([
      { pending: 3, due: 3, oldestPendingAgeMs: 15_000, threshold: 3 },
    ]);
    backlog.stop();
  });

  test('asks the store to count no further than needed', async () => {
    const { clock, store, watch: backlog } = watch(3);
    backlog.start();
    await clock.advance(45_000);
    expect(store.calls.map(({ call, asked, atMs }) => [call, asked, atMs])).toEqual([
      ['backlog', 3, 15_000],
      ['backlog', 3, 30_000],
      ['backlog', 3, 45_000],
    ]);
    backlog.stop();
  });

  test('reports nothing below the threshold', async () => {
    const { clock, store, watch: backlog, heard } = watch(3);
    await store.enqueue(entries('x1', 'x2'));
    backlog.start();
    await clock.advance(60_000);
    expect(heard).toEqual([]);
    backlog.stop();
  });

  test('reports once, and again only after there were fewer', async () => {
    const { clock, store, watch: backlog, heard } = watch(2);
    await store.enqueue(entries('x1', 'x2'));
    backlog.start();
    await clock.advance(60_000);
    expect(heard).toHaveLength(1);
    await store.markDispatched(['x1']);
    await clock.advance(15_000);
    await store.enqueue(entries('x3'));
    await clock.advance(60_000);
    expect(heard).toHaveLength(2);
    backlog.stop();
  });

  test('a store that does not answer counts as neither above nor below, and is asked again', async () => {
    const { clock, store, watch: backlog, heard } = watch(1);
    await store.enqueue(entries('x1'));
    backlog.start();
    await clock.advance(15_000);
    store.goAway();
    await clock.advance(30_000);
    store.comeBack();
    await clock.advance(30_000);
    expect(heard).toHaveLength(1);
    backlog.stop();
  });

  test('keeps its pace while an answer is late', async () => {
    const { clock, store, watch: backlog, heard } = watch(1);
    await store.enqueue(entries('x1'));
    const answer = deferred();
    store.before.backlog = () => answer.promise;
    backlog.start();
    await clock.advance(45_000);
    expect(store.timesOf('backlog')).toEqual([15_000, 30_000, 45_000]);
    answer.resolve();
    await clock.idle();
    expect(heard).toHaveLength(1);
    backlog.stop();
  });

  test('does not check after a stop, which is harmless twice and before a start', async () => {
    const { clock, store, watch: backlog } = watch(1);
    backlog.stop();
    backlog.start();
    await clock.advance(15_000);
    backlog.stop();
    backlog.stop();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(60_000);
    expect(store.timesOf('backlog')).toEqual([15_000]);
  });
});

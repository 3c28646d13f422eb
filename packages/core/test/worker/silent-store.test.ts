import { describe, expect, test } from 'vitest';
import { deferred, entries, FaultyStore, listen, openOutbox, scripted } from '../outbox-fixture.js';

const open = () => openOutbox({}, (options, virtual) => new FaultyStore(options, virtual));
const never = (): Promise<never> => new Promise(() => {});

describe('a store that stops answering, with default settings', () => {
  test('is down after three seconds, and up again when a poll is answered', async () => {
    const { store, clock, worker } = open();
    const hung = deferred();
    store.before.fetchPending = () => hung.promise;
    const running = worker(scripted());
    running.start();
    await clock.advance(2_999);
    expect(await running.health()).toMatchObject({ status: 'up' });
    await clock.advance(1);
    expect(await running.health()).toMatchObject({
      status: 'down',
      error: 'the store has left a call unanswered for 3000 ms',
    });
    hung.resolve();
    await clock.idle();
    expect(await running.health()).toMatchObject({ status: 'up' });
    await running.stop();
  });

  test('is polled again within seconds, and told as trouble', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(entries('x1'));
    let isSilent = true;
    store.before.fetchPending = () => (isSilent ? never() : undefined);
    const publisher = scripted();
    const running = worker(publisher);
    const heard = listen(running.events, 'trouble');
    running.start();
    await clock.advance(14_999);
    isSilent = false;
    expect(heard).toEqual([]);
    await clock.advance(101);
    expect(heard[0]?.told.error).toMatchObject({ message: 'claim: the store has not answered for 15000 ms' });
    expect(publisher.published).toEqual(['x1']);
    await running.stop();
  });

  test('is told the outcomes again within seconds', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(entries('x1'));
    let isSilent = true;
    store.before.settle = () => (isSilent ? never() : undefined);
    const publisher = scripted();
    const running = worker(publisher);
    running.start();
    await clock.advance(100);
    isSilent = false;
    await clock.advance(15_100);
    expect(publisher.published).toEqual(['x1']);
    expect(await store.count()).toMatchObject({ dispatched: 1, pending: 0 });
    await running.stop();
  });

  test('keeps a claim that one extension could not reach', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(entries('x1'));
    let isSilent = true;
    store.before.extendClaim = () => (isSilent ? never() : undefined);
    const held = deferred();
    const running = worker(() => held.promise, { publishTimeoutMs: 190_000 });
    running.start();
    await clock.advance(150_000);
    isSilent = false;
    await clock.advance(30_000);
    held.resolve();
    await clock.idle();
    expect(await store.count()).toMatchObject({ dispatched: 1 });
    await running.stop();
  });
});

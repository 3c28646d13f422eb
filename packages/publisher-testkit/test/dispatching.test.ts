import { OutboxDispatcher } from '@postcommit/core';
import { MemoryOutboxStore } from '@postcommit/store-memory';
import { afterEach, describe, expect, it } from 'vitest';
import type { PublisherFixture } from '../src/index.js';
import { until } from '../src/waiting.js';
import { type ToyPublisherClass, toyHarness } from './toy-harness.js';
import { ToyPublisher } from './toy-publisher.js';

const ROWS = 60;

/** Every failure that counts as an attempt ends a row. */
const SETTINGS = { maxAttempts: 1, batchSize: 20 };

class BurnsAttempts extends ToyPublisher {
  protected override toError(): unknown {
    return new Error('publish failed');
  }
}

describe('a publisher of the kit behind the engine', () => {
  const open: Array<() => Promise<void>> = [];
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
  });

  /** An outbox with rows of three keys, and a dispatcher that sends them to a toy broker. */
  async function outboxFor(Publisher?: ToyPublisherClass) {
    const fixture = await toyHarness(Publisher).open();
    const store = new MemoryOutboxStore();
    const dispatcher = new OutboxDispatcher(store, fixture.createPublisher(), SETTINGS);
    open.push(
      () => fixture.close(),
      () => dispatcher.stop({ graceMs: 0 }),
    );
    const entries = Array.from({ length: ROWS }, (_, number) => ({
      topic: fixture.topic,
      payload: number,
      ...(number % 4 > 0 && { key: `key-${number % 4}` }),
    }));
    return { fixture, store, dispatcher, ids: await store.enqueue(entries) };
  }

  function dispatchAll({ store, dispatcher }: { store: MemoryOutboxStore; dispatcher: OutboxDispatcher }) {
    return until(
      async () => {
        await dispatcher.dispatchPending();
        const { pending, dispatched, dead } = await store.count();
        return pending === 0 ? { dispatched, dead } : undefined;
      },
      () => 'rows are still pending',
      20_000,
    );
  }

  it('an outage burns no attempts, and the same publisher delivers when it is over', async () => {
    const outbox = await outboxFor();
    await outbox.fixture.link.cut();
    for (let times = 0; times < 5; times++) await outbox.dispatcher.dispatchPending();
    expect(await outbox.store.count()).toMatchObject({ pending: ROWS, dead: 0 });
    for (const { attempts, lastError } of await outbox.store.peek({}, ROWS))
      expect({ attempts, lastError }).toEqual({ attempts: 0, lastError: undefined });

    await outbox.fixture.link.heal();
    expect(await dispatchAll(outbox)).toEqual({ dispatched: ROWS, dead: 0 });
    await expectDelivered(outbox.fixture, outbox.ids);
  });

  it('cut connections, lost answers and a restart of the broker lose nothing and keep the order of keys', async () => {
    const outbox = await outboxFor();
    const { link, restartBroker } = outbox.fixture;
    const dispatching = dispatchAll(outbox);
    dispatching.catch(() => {});
    link.loseNextAnswer();
    await arrived(outbox.fixture, 1);
    await link.cut();
    await link.heal();
    await arrived(outbox.fixture, 20);
    await restartBroker?.();
    expect(await dispatching).toEqual({ dispatched: ROWS, dead: 0 });
    await expectDelivered(outbox.fixture, outbox.ids);
  });

  it('a publisher that burns attempts kills its rows: these tests can fail', async () => {
    const outbox = await outboxFor(BurnsAttempts);
    await outbox.dispatcher.dispatchPending();
    expect((await outbox.store.count()).dead).toBe(0);
    await outbox.fixture.link.cut();
    await outbox.dispatcher.dispatchPending();
    expect((await outbox.store.count()).dead).toBeGreaterThan(0);
  });
});

function arrived(fixture: PublisherFixture, count: number): Promise<unknown> {
  return until(
    async () => (await fixture.received()).length >= count || undefined,
    () => `fewer than ${count} rows arrived`,
    20_000,
  );
}

/** Every row arrived, and the first arrivals of each key are in order. */
async function expectDelivered(fixture: PublisherFixture, ids: readonly string[]): Promise<void> {
  const messages = await fixture.received();
  const first = messages.filter(({ id }, index) => messages.findIndex((one) => one.id === id) === index);
  expect(first.map(({ id }) => id).sort()).toEqual([...ids].sort());
  for (const key of ['key-1', 'key-2', 'key-3']) {
    const numbers = first
      .filter((one) => one.key === key)
      .map(({ body }) => Number(Buffer.from(body).toString()));
    expect(numbers, key).toEqual([...numbers].sort((a, b) => a - b));
  }
}

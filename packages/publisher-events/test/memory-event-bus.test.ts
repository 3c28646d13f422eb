import { MemoryEventBus, onEvent } from '@postcommit/publisher-events';
import { describe, expect, test } from 'vitest';

class OrderPaid {
  readonly topic: string;

  constructor(topic = 'order.paid') {
    this.topic = topic;
  }
}

class OrderRefunded {}
class GiftOrderPaid extends OrderPaid {}

/** Listeners that note what they heard, by name. */
function noting(bus: MemoryEventBus): { heard: string[]; listen(name: string): () => void } {
  const heard: string[] = [];
  return { heard, listen: (name) => bus.subscribe(onEvent(OrderPaid, () => heard.push(name), { name })) };
}

describe('MemoryEventBus', () => {
  test('passes an event to every listener of its class, and returns how many there were', async () => {
    const bus = new MemoryEventBus();
    const { heard, listen } = noting(bus);
    listen('a');
    listen('b');
    bus.subscribe(onEvent(OrderRefunded, () => heard.push('refund'), { name: 'refund' }));
    expect(await bus.publish(new OrderPaid())).toEqual({ listeners: 2, failures: [] });
    expect(heard).toEqual(['a', 'b']);
  });

  test('an event without listeners returns zero', async () => {
    expect(await new MemoryEventBus().publish(new OrderPaid())).toEqual({ listeners: 0, failures: [] });
  });

  test('a listener of a parent class is not called', async () => {
    const bus = new MemoryEventBus();
    noting(bus).listen('a');
    expect(await bus.publish(new GiftOrderPaid())).toMatchObject({ listeners: 0 });
  });

  test('a listener receives the event itself, once', async () => {
    const bus = new MemoryEventBus();
    const heard: unknown[] = [];
    const listener = onEvent(OrderPaid, (event) => heard.push(event), { name: 'a' });
    bus.subscribe(listener);
    bus.subscribe(listener);
    const event = new OrderPaid();
    await bus.publish(event);
    expect(heard).toEqual([event]);
    expect(heard[0]).toBe(event);
  });

  test('only listeners whose topic matches are called, and only they count', async () => {
    const bus = new MemoryEventBus();
    const heard: string[] = [];
    const listen = (name: string, topic: string): void =>
      void bus.subscribe(onEvent(OrderPaid, () => heard.push(name), { name, topic }));
    listen('orders', 'order.*');
    listen('refunds', 'refund.*');
    expect(await bus.publish(new OrderPaid('order.paid'))).toMatchObject({ listeners: 1 });
    expect(await bus.publish(new OrderPaid('user.created'))).toMatchObject({ listeners: 0 });
    expect(heard).toEqual(['orders']);
  });

  test('returns every error, and still runs all listeners', async () => {
    const bus = new MemoryEventBus();
    const { heard, listen } = noting(bus);
    const thrown = [new Error('thrown at once'), new Error('rejected'), undefined];
    bus.subscribe(
      onEvent(
        OrderPaid,
        () => {
          throw thrown[0];
        },
        { name: 'throws' },
      ),
    );
    bus.subscribe(onEvent(OrderPaid, () => Promise.reject(thrown[1]), { name: 'rejects' }));
    bus.subscribe(onEvent(OrderPaid, () => Promise.reject(thrown[2]), { name: 'rejects with nothing' }));
    listen('last');
    expect(await bus.publish(new OrderPaid())).toEqual({
      listeners: 4,
      failures: [
        { listener: 'throws', error: thrown[0] },
        { listener: 'rejects', error: thrown[1] },
        { listener: 'rejects with nothing', error: undefined },
      ],
    });
    expect(heard).toEqual(['last']);
  });

  test('a listener that hangs does not delay the others, but the publish waits for it', async () => {
    const bus = new MemoryEventBus();
    const { heard, listen } = noting(bus);
    const gate = { open: () => {} };
    const hangs = new Promise<void>((resolve) => {
      gate.open = resolve;
    });
    bus.subscribe(onEvent(OrderPaid, () => hangs.then(() => heard.push('slow')), { name: 'slow' }));
    listen('quick');
    const publishing = bus.publish(new OrderPaid()).then(() => heard.push('published'));
    expect(heard).toEqual(['quick']);
    gate.open();
    await publishing;
    expect(heard).toEqual(['quick', 'slow', 'published']);
  });

  test('an unsubscribed listener is not called; unsubscribing twice is harmless', async () => {
    const bus = new MemoryEventBus();
    const { heard, listen } = noting(bus);
    const unsubscribe = listen('a');
    listen('b');
    unsubscribe();
    unsubscribe();
    expect(await bus.publish(new OrderPaid())).toMatchObject({ listeners: 1 });
    expect(heard).toEqual(['b']);
  });

  test('subscribing or unsubscribing during a publish affects the next one', async () => {
    const bus = new MemoryEventBus();
    const { heard, listen } = noting(bus);
    const leave = { now: () => {} };
    bus.subscribe(
      onEvent(
        OrderPaid,
        () => {
          leave.now();
          listen('late');
        },
        { name: 'first' },
      ),
    );
    leave.now = listen('leaving');
    expect(await bus.publish(new OrderPaid())).toMatchObject({ listeners: 2 });
    expect(heard).toEqual(['leaving']);
    await bus.publish(new OrderPaid());
    expect(heard).toEqual(['leaving', 'late']);
  });
});

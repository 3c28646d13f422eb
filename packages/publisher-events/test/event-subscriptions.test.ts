import { EventSubscriptions, type Listener, MemoryEventBus, onEvent } from '@postcommit/publisher-events';
import { expect, test } from 'vitest';

class OrderShipped {}

/** Knows how often each listener is subscribed, as a bus that does not remember whom it has would call it. */
class CountingBus extends MemoryEventBus {
  readonly subscribed: string[] = [];

  override subscribe<Event extends object>(listener: Listener<Event>): () => void {
    this.subscribed.push(listener.name);
    const unsubscribe = super.subscribe(listener);
    return () => {
      this.subscribed.splice(this.subscribed.indexOf(listener.name), 1);
      unsubscribe();
    };
  }
}

const shipped = (name: string): Listener<OrderShipped> => onEvent(OrderShipped, () => {}, { name });

test('listeners are subscribed once, by whatever comes first, and never after the stop', async () => {
  const bus = new CountingBus();
  const subscriptions = new EventSubscriptions(bus, [shipped('a'), shipped('b')]);
  expect(bus.subscribed).toEqual([]);
  expect(await subscriptions.publish(new OrderShipped())).toMatchObject({ listeners: 2 });
  subscriptions.start();
  subscriptions.start();
  await subscriptions.publish(new OrderShipped());
  expect(bus.subscribed).toEqual(['a', 'b']);
  subscriptions.stop();
  subscriptions.stop();
  expect(bus.subscribed).toEqual([]);
  await expect(subscriptions.publish(new OrderShipped())).rejects.toMatchObject({ permanent: false });
  expect(bus.subscribed).toEqual([]);
  subscriptions.start();
  expect(bus.subscribed).toEqual(['a', 'b']);
});

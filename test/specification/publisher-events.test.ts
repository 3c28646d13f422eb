import { Injectable, OutboxDispatcher, OutboxModule, OutboxStore } from '@postcommit/core';
import {
  contributeListeners,
  EventsMemoryModule,
  EventsModule,
  OnEvent,
  OutboxEvent,
  OutboxEventsModule,
} from '@postcommit/publisher-events';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { compose } from './line-up.js';

const projected: string[] = [];
const seen: string[] = [];
let mailerFails = 0;

@Injectable()
class OrderProjector {
  @OnEvent(OutboxEvent, { name: 'order-projector' })
  on(event: OutboxEvent) {
    if (event.topic === 'order.paid') {
      const { id } = event.payload as { id: string };
      projected.push(id);
    }
  }
}

@Injectable()
class OrderMailer {
  @OnEvent(OutboxEvent, { name: 'order-mailer' })
  on(event: OutboxEvent) {
    seen.push(event.id);
    if (mailerFails-- > 0) throw new Error('mail server down');
  }
}

beforeEach(() => {
  projected.length = 0;
  seen.length = 0;
  mailerFails = 0;
});

const OrdersModule = { name: 'OrdersModule', contributes: contributeListeners(OrderProjector, OrderMailer) };

function composeDocumented() {
  const modules = [EventsModule, EventsMemoryModule, OutboxEventsModule];
  const app = compose([OutboxModule, OutboxMemoryModule, ...modules, OrdersModule]);
  return { store: app.get(OutboxStore), dispatcher: app.get(OutboxDispatcher) };
}

describe('the events publisher', () => {
  it('passes each row to the listeners, which select by topic', async () => {
    const { store, dispatcher } = composeDocumented();
    await store.enqueue([
      { topic: 'order.paid', payload: { id: '7' } },
      { topic: 'order.sent', payload: { id: '8' } },
    ]);
    expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 2, dispatched: 2 });
    expect(projected).toEqual(['7']);
    expect(seen).toHaveLength(2);
  });

  it('fails the row when any handler errors, and runs all of them again on the next tick', async () => {
    const { store, dispatcher } = composeDocumented();
    const [id] = await store.enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
    mailerFails = 1;
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 0, failed: 1 });
    expect(await store.peek({ state: 'pending' }, 20)).toMatchObject([
      { id, attempts: 1, lastError: expect.stringMatching(/order-mailer.*mail server down/) },
    ]);
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1, failed: 0 });
    // Hence listeners have to be idempotent, by the id that stays the same.
    expect(projected).toEqual(['7', '7']);
    expect(seen).toEqual([id, id]);
  });

  it('works the same with listeners passed to forRoot, without a module of the application', async () => {
    const app = compose([
      OutboxModule,
      OutboxMemoryModule,
      EventsModule,
      EventsMemoryModule,
      OutboxEventsModule.forRoot({ listeners: [OrderProjector] }),
    ]);
    await app.get(OutboxStore).enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
    await app.get(OutboxDispatcher).dispatchPending();
    expect(projected).toEqual(['7']);
  });
});

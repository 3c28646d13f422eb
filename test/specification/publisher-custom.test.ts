import { OutboxDispatcher, OutboxModule, OutboxPublisher, OutboxStore } from '@postcommit/core';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { beforeEach, expect, it } from 'vitest';
import { HttpWebhookPublisher, hook } from './http-webhook-publisher.js';
import { compose } from './line-up.js';
import { useWebhookServer } from './webhook-server.js';

const server = useWebhookServer();

beforeEach(() => {
  hook.url = server.url;
});

function composeDocumented() {
  const app = compose([OutboxModule, OutboxMemoryModule], {
    preferences: [{ provide: OutboxPublisher, useClass: HttpWebhookPublisher }],
  });
  expect(app.get(OutboxPublisher)).toBeInstanceOf(HttpWebhookPublisher);
  return { store: app.get(OutboxStore), dispatcher: app.get(OutboxDispatcher) };
}

it('a webhook publisher, bound by a preference, posts each row', async () => {
  const { store, dispatcher } = composeDocumented();
  await store.enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
  expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 1, dispatched: 1 });
  expect(server.received).toEqual([
    {
      method: 'POST',
      contentType: 'application/json',
      body: { topic: 'order.paid', payload: { id: '7' } },
    },
  ]);
});

it('its error fails the row, which is posted again', async () => {
  const { store, dispatcher } = composeDocumented();
  await store.enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
  server.status = 502;
  expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 0, failed: 1 });
  expect(await store.peek({}, 20)).toMatchObject([{ attempts: 1, lastError: 'webhook 502' }]);
  server.status = 204;
  expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1, failed: 0 });
  expect(server.received).toHaveLength(2);
});

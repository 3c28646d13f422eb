import { DispatchEvents } from '@postcommit/core';
import { expect, test } from 'vitest';
import { composeOutbox } from './compose-outbox.js';
import { useOpenTelemetry } from './use-opentelemetry.js';

const otel = useOpenTelemetry();

test('a destination that is away is 1, and 0 when it is back', async () => {
  const { app, dispatcher, store } = composeOutbox(
    async () => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    },
    {},
    { attributes: { 'outbox.name': 'orders' } },
  );
  const series = async (): Promise<unknown[]> => {
    const metric = (await otel.collect()).get('outbox.destination.unavailable');
    return (metric?.dataPoints ?? []).map(({ attributes, value }) => [attributes, value]);
  };
  const attributes = { 'outbox.name': 'orders', 'outbox.destination': 'publisher' };
  await app.start();
  expect(await series()).toEqual([]);
  await store.enqueue({ topic: 'order.paid', payload: {} });
  await dispatcher.dispatchPending();
  expect(await series()).toEqual([[attributes, 1]]);
  app.get(DispatchEvents).emit('available', { destination: 'publisher', afterMs: 1_000 });
  expect(await series()).toEqual([[attributes, 0]]);
  await app.stop();
});

import { composeModules, DispatchEvents, type Module, OutboxModule, OutboxWorker } from '@postcommit/core';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { describe, expect, test } from 'vitest';
import { composeOutbox } from './compose-outbox.js';
import { soleValue, useOpenTelemetry } from './use-opentelemetry.js';

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

describe('the worker of this process', () => {
  const running = async (): Promise<unknown> =>
    soleValue((await otel.collect()).get('outbox.worker.running'));
  const application = (outbox: Module) => composeModules([outbox, OutboxMemoryModule, OutboxTelemetryModule]);

  test('is 1 while it runs, and 0 after it has stopped', async () => {
    const app = application(OutboxModule.forRoot({ publisher: async () => {} }));
    await app.start();
    expect(await running()).toBe(1);
    await app.get(OutboxWorker).stop();
    expect(await running()).toBe(0);
    await app.stop();
  });

  test('has no series where there is none, as in a process that only enqueues', async () => {
    const app = application(OutboxModule.forRoot({ worker: false }));
    await app.start();
    expect(await running()).toBeUndefined();
    await app.stop();
  });
});

import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { OutboxCounters, OutboxDispatcher, PermanentError } from '@postcommit/core';
import type { OutboxCounter } from '@postcommit/core/internal';
import { MemoryOutboxStore, VirtualClock } from '@postcommit/store-memory';
import { TelemetryInterceptor } from '@postcommit/telemetry';
import { describe, expect, test } from 'vitest';
import { composeOutbox } from './compose-outbox.js';
import { histogramsOf, only, soleValue, useOpenTelemetry } from './use-opentelemetry.js';

const otel = useOpenTelemetry();
const entry = { topic: 'order.paid', payload: {} };

/** What died, by topic and reason. */
function deathsIn(collected: Map<string, MetricData>): Record<string, unknown> {
  const points = collected.get('outbox.dead')?.dataPoints ?? [];
  const died = points.filter(({ value }) => value !== 0);
  return Object.fromEntries(
    died.map(({ attributes, value }) => [
      `${attributes['messaging.destination.name']} ${attributes['outbox.dead_reason']}`,
      value,
    ]),
  );
}

describe('the counters', () => {
  test('add up the results of the batches', async () => {
    const { store, dispatcher } = composeOutbox(async ({ topic, id }) => {
      if (topic === 'fails') throw new Error('down');
      if (topic === 'dies') throw new PermanentError('gone');
      if (topic === 'fenced') await store.requeue(id);
    });
    const topics = ['good', 'good', 'good', 'fails', 'dies'];
    await store.enqueue(topics.map((topic) => ({ topic, payload: {} })));
    await store.enqueue({ ...entry, topic: 'fenced', id: 'fenced' });
    await dispatcher.dispatchPending();
    await store.cancel('fenced');
    await dispatcher.dispatchPending();
    const collected = await otel.collect();
    const counts = ['dispatched', 'failed', 'fenced'].map((name) =>
      soleValue(collected.get(`outbox.${name}`)),
    );
    expect(counts).toEqual([3, 2, 1]);
    expect(deathsIn(collected)).toEqual({ 'dies permanent': 1 });
  });

  test('start at zero with the first batch', async () => {
    await composeOutbox(async () => {}).dispatcher.dispatchPending();
    const collected = await otel.collect();
    for (const name of ['dispatched', 'failed', 'fenced'])
      expect(soleValue(collected.get(`outbox.${name}`))).toBe(0);
  });

  test('of dead rows have the topic and the reason', async () => {
    const { store, dispatcher } = composeOutbox(
      async ({ topic }) => {
        throw topic === 'refused' ? new PermanentError('gone') : new Error('down');
      },
      { maxAttempts: 1 },
    );
    const topics = ['refused', 'down', 'down'];
    await store.enqueue(topics.map((topic) => ({ topic, payload: {} })));
    await dispatcher.dispatchPending();
    expect(deathsIn(await otel.collect())).toEqual({ 'refused permanent': 1, 'down exhausted': 2 });
  });

  test('of dead rows start at zero with the first publish of a topic, for every reason', async () => {
    const { store, dispatcher } = composeOutbox(async () => {});
    await store.enqueue(entry);
    await dispatcher.dispatchPending();
    const points = (await otel.collect()).get('outbox.dead')?.dataPoints ?? [];
    expect(points.map(({ attributes, value }) => [attributes['outbox.dead_reason'], value]).sort()).toEqual(
      ['crashed', 'exhausted', 'expired', 'no-listener', 'permanent', 'undecodable'].map((reason) => [
        reason,
        0,
      ]),
    );
    expect(new Set(points.map(({ attributes }) => attributes['messaging.destination.name']))).toEqual(
      new Set(['order.paid']),
    );
  });

  test('of dead rows have no more series than the SDK keeps, whatever the topics', async () => {
    const { store, dispatcher } = composeOutbox(async () => {});
    await store.enqueue(Array.from({ length: 300 }, (_, topic) => ({ topic: `t${topic}`, payload: {} })));
    await dispatcher.dispatchPending(300);
    expect((await otel.collect()).get('outbox.dead')?.dataPoints).toHaveLength(600);
  });

  test('of dead rows have no attributes if only the interceptor is composed', async () => {
    const store = new MemoryOutboxStore();
    const interceptors = [new TelemetryInterceptor()];
    await store.enqueue(entry);
    await new OutboxDispatcher(store, () => Promise.reject(new PermanentError('gone')), {
      interceptors,
    }).dispatchPending();
    const points = (await otel.collect()).get('outbox.dead')?.dataPoints ?? [];
    expect(points.filter(({ value }) => value !== 0)).toMatchObject([{ attributes: {}, value: 1 }]);
  });

  test('that other modules contribute are exported under their own names', async () => {
    let count = (): void => {};
    const counter: OutboxCounter = {
      metric: 'app_unheard_total',
      unit: '{message}',
      description: 'Messages that nobody heard.',
      onCount: (listener) => {
        count = listener;
        return () => {};
      },
    };
    const { dispatcher } = composeOutbox(async () => {}, {}, { attributes: { 'outbox.name': 'billing' } }, [
      { name: 'counting', contributes: [{ to: OutboxCounters, useValue: counter }] },
    ]);
    await dispatcher.dispatchPending();
    const before = (await otel.collect()).get('app_unheard_total');
    expect(before?.descriptor).toMatchObject({
      unit: '{message}',
      description: 'Messages that nobody heard.',
    });
    expect(soleValue(before), 'from the first batch on').toBe(0);
    count();
    count();
    const after = (await otel.collect()).get('app_unheard_total');
    expect(soleValue(after)).toBe(2);
    expect(after?.dataPoints).toMatchObject([{ attributes: { 'outbox.name': 'billing' } }]);
  });

  test('count nothing for a batch that could not be settled', async () => {
    const { store, dispatcher } = composeOutbox(async () => {});
    await store.enqueue(entry);
    store.settle = () => Promise.reject(new Error('connection lost'));
    await expect(dispatcher.dispatchPending()).rejects.toThrow('connection lost');
    expect(soleValue((await otel.collect()).get('outbox.dispatched'))).toBe(0);
  });
});

describe('the publish duration', () => {
  test('is measured in seconds, by topic and kind of error', async () => {
    const { store, dispatcher, clock } = composeOutbox(async ({ topic }) => {
      await clock.advance(topic === 'fails' ? 40 : 250);
      if (topic === 'fails') throw new TypeError('fetch failed');
    });
    await store.enqueue([entry, { ...entry, topic: 'fails', key: 'customer-1' }]);
    await dispatcher.dispatchPending();
    const metric = (await otel.collect()).get('outbox.publish.duration_seconds');
    const operation = {
      'messaging.system': 'postcommit',
      'messaging.operation.name': 'publish',
      'messaging.operation.type': 'send',
    };
    expect(metric?.descriptor.unit).toBe('s');
    expect(histogramsOf(metric).map(({ attributes, value }) => [attributes, value.count, value.sum])).toEqual(
      [
        [{ ...operation, 'messaging.destination.name': 'order.paid' }, 1, 0.25],
        [{ ...operation, 'messaging.destination.name': 'fails', 'error.type': 'TypeError' }, 1, 0.04],
      ],
    );
  });

  test('has the buckets that the conventions ask for', async () => {
    const { store, dispatcher } = composeOutbox(async () => {});
    await store.enqueue(entry);
    await dispatcher.dispatchPending();
    const metric = (await otel.collect()).get('outbox.publish.duration_seconds');
    const { boundaries } = only(histogramsOf(metric)).value.buckets;
    expect(boundaries).toEqual([0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]);
  });
});

describe('the dispatch lag', () => {
  test('runs from the time a row is due to the start of its publish', async () => {
    const { store, dispatcher, clock } = composeOutbox(async () => void (await clock.advance(500)));
    await store.enqueue({ ...entry, availableAt: new Date(clock.now() + 10_000) });
    await clock.advance(12_000);
    await dispatcher.dispatchPending();
    const metric = (await otel.collect()).get('outbox.dispatch.lag_seconds');
    expect(metric?.descriptor.unit).toBe('s');
    expect(only(histogramsOf(metric))).toMatchObject({
      attributes: { 'messaging.destination.name': 'order.paid' },
      value: { count: 1, sum: 2 },
    });
  });

  test('starts over with each attempt, when it is due', async () => {
    let tries = 0;
    const { store, dispatcher, clock } = composeOutbox(
      async () => {
        tries += 1;
        if (tries === 1) throw new Error('down');
      },
      { backoff: { type: 'fixed', delayMs: 60_000 } },
    );
    await store.enqueue(entry);
    await dispatcher.dispatchPending();
    await clock.advance(61_000);
    await dispatcher.dispatchPending();
    expect(only(histogramsOf((await otel.collect()).get('outbox.dispatch.lag_seconds'))).value).toMatchObject(
      {
        count: 2,
        sum: 1,
      },
    );
  });

  test('is never below zero, even if the clocks differ', async () => {
    const clock = Object.assign(new VirtualClock(), { now: () => 0 });
    const { store, dispatcher } = composeOutbox(async () => {}, {}, { clock });
    await store.enqueue(entry);
    await dispatcher.dispatchPending();
    expect(only(histogramsOf((await otel.collect()).get('outbox.dispatch.lag_seconds'))).value.min).toBe(0);
  });
});

test('no row id and no key is in any attribute', async () => {
  const { app, store, dispatcher } = composeOutbox(async ({ topic }) => {
    if (topic === 'fails') throw new Error('of row row-1');
  });
  await app.start();
  await store.enqueue([
    { topic: 'fails', payload: {}, id: 'row-1', key: 'customer-1' },
    { topic: 'good', payload: {}, id: 'row-2', key: 'customer-2' },
  ]);
  await dispatcher.dispatchPending();
  const collected = [...(await otel.collect()).values()];
  const attributes = collected.flatMap(({ dataPoints }) => dataPoints.map((point) => point.attributes));
  expect(collected).toHaveLength(9);
  expect(JSON.stringify(attributes)).not.toMatch(/row-|customer-/);
  await app.stop();
});

test('the configured attributes are on every metric', async () => {
  const { app, store, dispatcher } = composeOutbox(
    async () => {},
    {},
    { attributes: { 'outbox.name': 'billing' } },
  );
  await app.start();
  await store.enqueue(entry);
  await dispatcher.dispatchPending();
  const attributes = [...(await otel.collect()).values()].flatMap(({ dataPoints }) =>
    dataPoints.map((point) => point.attributes),
  );
  expect(attributes.length).toBeGreaterThan(8);
  for (const each of attributes) expect(each).toMatchObject({ 'outbox.name': 'billing' });
  await app.stop();
});

test('an SDK that is registered after the application was composed is used', async () => {
  const { store, dispatcher } = composeOutbox(async () => {});
  await dispatcher.dispatchPending();
  metrics.disable();
  await store.enqueue(entry);
  await dispatcher.dispatchPending();
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const later = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  });
  metrics.setGlobalMeterProvider(later);
  await store.enqueue([entry, entry]);
  await dispatcher.dispatchPending();
  await later.forceFlush();
  const all = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  expect(soleValue(all.find(({ descriptor }) => descriptor.name === 'outbox.dispatched'))).toBe(2);
  await later.shutdown();
});

test('configured providers take precedence over the global ones', async () => {
  const spans = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const meterProvider = new MeterProvider();
  const { dispatcher } = composeOutbox(async () => {}, {}, { tracerProvider, meterProvider });
  await dispatcher.dispatchPending();
  expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(['outbox dispatch']);
  expect(otel.spans('outbox dispatch')).toEqual([]);
  expect((await otel.collect()).has('outbox.dispatched')).toBe(false);
  await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
});

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { metrics } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { JsonMetricsSerializer } from '@opentelemetry/otlp-transformer';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { OUTBOX_METRICS } from '@postcommit/telemetry';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { composeOutbox } from './compose-outbox.js';
import { exerciseOutbox } from './exercise-outbox.js';
import { prometheusLabel } from './prometheus-names.js';

interface OtlpMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: {
    readonly isMonotonic: boolean;
    readonly aggregationTemporality: number;
    readonly dataPoints: ReadonlyArray<{ readonly asDouble: number }>;
  };
  readonly gauge?: unknown;
  readonly histogram?: { readonly aggregationTemporality: number };
}

/** In OTLP. */
const CUMULATIVE = 2;
const NAMES_IN_PROMETHEUS = [
  'counter outbox_backlog_failures_total',
  'counter outbox_dead_total',
  'counter outbox_dispatched_total',
  'counter outbox_failed_total',
  'counter outbox_fenced_total',
  'gauge outbox_destination_unavailable',
  'gauge outbox_oldest_pending_age_seconds',
  'gauge outbox_pending',
  'gauge outbox_worker_running',
  'histogram outbox_dispatch_lag_seconds',
  'histogram outbox_publish_duration_seconds',
];

let prometheus: PrometheusExporter;
let memory: InMemoryMetricExporter;
let provider: MeterProvider;
beforeEach(() => {
  prometheus = new PrometheusExporter({ preventServerStart: true });
  memory = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const pushing = new PeriodicExportingMetricReader({ exporter: memory, exportIntervalMillis: 3_600_000 });
  provider = new MeterProvider({ readers: [prometheus, pushing] });
  metrics.setGlobalMeterProvider(provider);
});
afterEach(async () => {
  await provider.shutdown();
  metrics.disable();
});

/** What Prometheus gets from the exporter of the JavaScript SDK. */
async function scrape(): Promise<string> {
  const server = createServer((request, response) => prometheus.getMetricsRequestHandler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** What a collector gets over OTLP. */
async function push(): Promise<readonly OtlpMetric[]> {
  memory.reset();
  await provider.forceFlush();
  const [exported] = memory.getMetrics() as [ResourceMetrics];
  const body = JSON.parse(new TextDecoder().decode(JsonMetricsSerializer.serializeRequest(exported)));
  return body.resourceMetrics[0].scopeMetrics[0].metrics;
}

/** `kind name`, as the Prometheus exporter of a collector translates names, with its defaults. */
function translated({ name, unit, sum, histogram }: OtlpMetric): string {
  const bare = prometheusLabel(name);
  const inSeconds = unit !== 's' || bare.endsWith('_seconds') ? bare : `${bare}_seconds`;
  if (histogram) return `histogram ${inSeconds}`;
  return sum ? `counter ${inSeconds.replace(/_total$/, '')}_total` : `gauge ${inSeconds}`;
}

describe('the names of the metrics', () => {
  test('have their unit and _total once, scraped from the Prometheus exporter', async () => {
    const types = (await exerciseOutbox(scrape)).matchAll(/^# TYPE (outbox\S+) (\w+)$/gm);
    expect([...types].map(([, name, kind]) => `${kind} ${name}`).sort()).toEqual(NAMES_IN_PROMETHEUS);
  });

  test('are the same through a collector', async () => {
    const pushed = await exerciseOutbox(push);
    expect(pushed.map(translated).sort()).toEqual(NAMES_IN_PROMETHEUS);
    expect(new Set(pushed.map(({ unit }) => unit.replace(/^\{\w+\}$/, '')))).toEqual(new Set(['', 's']));
  });

  test('are cumulative, and counters only increase', async () => {
    const pushed = await exerciseOutbox(push);
    for (const { name, sum, histogram } of pushed) {
      if (sum) expect(sum.isMonotonic, name).toBe(true);
      const total = sum ?? histogram;
      if (total) expect(total.aggregationTemporality, name).toBe(CUMULATIVE);
    }
  });
});

test('a view gives the publish duration the name of the semantic conventions', async () => {
  const memoryOfView = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const renaming = new MeterProvider({
    views: [
      { instrumentName: OUTBOX_METRICS.publishDuration.name, name: 'messaging.client.operation.duration' },
    ],
    readers: [new PeriodicExportingMetricReader({ exporter: memoryOfView, exportIntervalMillis: 3_600_000 })],
  });
  metrics.disable();
  metrics.setGlobalMeterProvider(renaming);
  await exerciseOutbox(() => renaming.forceFlush());
  const [exported] = memoryOfView.getMetrics() as [ResourceMetrics];
  const names = exported.scopeMetrics[0]?.metrics.map(({ descriptor }) => descriptor.name);
  expect(names).toContain('messaging.client.operation.duration');
  expect(names).not.toContain(OUTBOX_METRICS.publishDuration.name);
  await renaming.shutdown();
});

describe('an application that has just started', () => {
  async function started<T>(collect: () => Promise<T>): Promise<T> {
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate: () => ({ value: {} }) } };
    const { app } = composeOutbox(async () => {}, { topics: { 'order.paid': schema } });
    await app.start();
    const collected = await collect();
    await app.stop();
    return collected;
  }
  const reasons = ['crashed', 'exhausted', 'expired', 'no-listener', 'permanent', 'undecodable'];

  test('has every counter at zero, by topic and reason for topics with a schema', async () => {
    const lines = (await started(scrape)).split('\n').filter((line) => /^outbox_\w+_total/.test(line));
    const withoutScope = lines.map((line) => line.replace(/,?otel_scope_name="[^"]*"/, '').replace('{}', ''));
    expect(withoutScope.sort()).toEqual([
      'outbox_backlog_failures_total 0',
      ...reasons.map(
        (reason) =>
          `outbox_dead_total{messaging_destination_name="order.paid",outbox_dead_reason="${reason}"} 0`,
      ),
      'outbox_dispatched_total 0',
      'outbox_failed_total 0',
      'outbox_fenced_total 0',
    ]);
  });

  test('pushes these zeros too', async () => {
    const sums = (await started(push)).flatMap(({ sum }) => sum?.dataPoints ?? []);
    expect(sums.map(({ asDouble }) => asDouble)).toEqual(Array(4 + reasons.length).fill(0));
  });
});

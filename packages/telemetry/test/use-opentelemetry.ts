import { context, type Link, metrics, propagation, type SpanContext, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach } from 'vitest';

export interface OpenTelemetry {
  /** The spans that ended, by name. */
  spans(name: string): ReadableSpan[];
  /** The only span of this name. */
  span(name: string): ReadableSpan;
  /** Runs `work` in a new trace. Returns the context of its root span. */
  inTrace(work: () => Promise<unknown>): Promise<SpanContext>;
  /** Collects and exports now. Returns what was exported, by metric name. */
  collect(): Promise<Map<string, MetricData>>;
}

/** The real SDK with exporters in memory, registered globally for each test of a file. */
export function useOpenTelemetry(options: { sampler?: Sampler } = {}): OpenTelemetry {
  let spanExporter: InMemorySpanExporter;
  let metricExporter: InMemoryMetricExporter;
  let tracerProvider: BasicTracerProvider;
  let meterProvider: MeterProvider;

  beforeEach(() => {
    spanExporter = new InMemorySpanExporter();
    tracerProvider = new BasicTracerProvider({
      ...options,
      spanProcessors: [new SimpleSpanProcessor(spanExporter)],
    });
    metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    meterProvider = new MeterProvider({ readers: [onDemandReader(metricExporter)] });
    trace.setGlobalTracerProvider(tracerProvider);
    metrics.setGlobalMeterProvider(meterProvider);
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(
      new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
    );
  });

  afterEach(async () => {
    await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
    for (const api of [trace, metrics, context, propagation]) api.disable();
  });

  const spans = (name: string): ReadableSpan[] =>
    spanExporter.getFinishedSpans().filter((span) => span.name === name);
  return {
    spans,
    span: (name) => only(spans(name)),
    inTrace: (work) =>
      trace.getTracer('test').startActiveSpan('producer', async (span) => {
        await work();
        span.end();
        return span.spanContext();
      }),
    collect: async () => {
      metricExporter.reset();
      await meterProvider.forceFlush();
      const exported = metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
      return new Map(
        exported.flatMap((scope) => scope.metrics.map((metric) => [metric.descriptor.name, metric] as const)),
      );
    },
  };
}

export function only<T>(list: readonly T[]): T {
  const [item] = list;
  if (item === undefined || list.length !== 1) throw new Error(`expected one item, got ${list.length}`);
  return item;
}

/** The value of a counter or gauge that has one series. */
export function soleValue(metric: MetricData | undefined): unknown {
  return metric && only<DataPoint<unknown>>(metric.dataPoints).value;
}

/** The series of a histogram. */
export function histogramsOf(metric: MetricData | undefined): DataPoint<Histogram>[] {
  return (metric?.dataPoints ?? []) as DataPoint<Histogram>[];
}

/** Which spans a span links to, as `traceId/spanId`. */
export function linksOf(span: ReadableSpan): string[] {
  return span.links.map(({ context: linked }: Link) => `${linked.traceId}/${linked.spanId}`);
}

/** It never fires by itself within a test. */
function onDemandReader(exporter: InMemoryMetricExporter): PeriodicExportingMetricReader {
  return new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
}

import { readFileSync } from 'node:fs';
import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { OUTBOX_ATTRIBUTES, OUTBOX_METRICS, OUTBOX_SPANS } from '@postcommit/telemetry';
import { beforeEach, describe, expect, test } from 'vitest';
import { ALERT_CASES } from './alert-series.js';
import { exerciseOutbox } from './exercise-outbox.js';
import { labelsIn, metricsIn, prometheusLabel, prometheusNames } from './prometheus-names.js';
import { useOpenTelemetry } from './use-opentelemetry.js';

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly description: string;
  readonly targets: readonly { readonly expr?: string; readonly query?: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const otel = useOpenTelemetry();
const operations = new URL('../../../docs/operations/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, operations), 'utf8');

const dashboard = JSON.parse(read('grafana-dashboard.json')) as Dashboard;
const targets = dashboard.panels.flatMap((panel) => panel.targets);
const panelQueries = targets.flatMap(({ expr }) => expr ?? []);
const variableQueries = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
/** The series that the alerts are tested with. */
const recorded = ALERT_CASES.flatMap(({ series }) => Object.keys(series));
const alerts = [...read('alerts.yaml').matchAll(/^ {8}expr: (.+)$/gm)].flatMap(([, expr]) => expr ?? []);

/** What an application that did a bit of everything really exports. */
let emitted: readonly MetricData[] = [];
beforeEach(async () => {
  emitted = [...(await exerciseOutbox(otel.collect)).values()];
});

function emittedNames(): Set<string> {
  return new Set(emitted.flatMap(prometheusNames));
}

/** `job`, `instance` and `le` come from Prometheus itself. */
function emittedLabels(): Set<string> {
  const attributes = emitted.flatMap(({ dataPoints }) =>
    dataPoints.flatMap((point) => Object.keys(point.attributes)),
  );
  return new Set(['job', 'instance', 'le', ...attributes.map(prometheusLabel)]);
}

describe('the metrics', () => {
  test('are all emitted under their names', () => {
    const names = Object.values(OUTBOX_METRICS).map(({ name }) => name);
    expect(emitted.map(({ descriptor }) => descriptor.name).sort()).toEqual([...names].sort());
  });

  test('have the names in Prometheus that the documents use', () => {
    expect([...emittedNames()].filter((name) => !/_(bucket|sum|count)$/.test(name)).sort()).toEqual([
      'outbox_backlog_failures_total',
      'outbox_dead_total',
      'outbox_destination_unavailable',
      'outbox_dispatched_total',
      'outbox_failed_total',
      'outbox_fenced_total',
      'outbox_oldest_pending_age_seconds',
      'outbox_pending',
      'outbox_worker_running',
    ]);
    const histograms = emitted.filter(({ dataPointType }) => dataPointType === DataPointType.HISTOGRAM);
    expect(histograms.flatMap(prometheusNames)).toEqual(
      expect.arrayContaining(['outbox_publish_duration_seconds_bucket', 'outbox_dispatch_lag_seconds_count']),
    );
  });
});

describe('the dashboard and the alerts', () => {
  test('exist', () => {
    expect(panelQueries.length).toBeGreaterThan(10);
    expect(variableQueries).toHaveLength(2);
    expect(alerts).toHaveLength([...read('alerts.yaml').matchAll(/- alert: \w+/g)].length);
    expect(alerts).toHaveLength(10);
  });

  test('use only metrics that the code emits', () => {
    const unknown = [...panelQueries, ...variableQueries, ...alerts, ...recorded]
      .flatMap(metricsIn)
      .filter((name) => !emittedNames().has(name));
    expect(unknown).toEqual([]);
  });

  test('use only labels that these metrics have', () => {
    const unknown = [...panelQueries, ...variableQueries, ...alerts, ...recorded]
      .flatMap(labelsIn)
      .filter((label) => !emittedLabels().has(label));
    expect(unknown).toEqual([]);
  });

  test('each name a metric in every query', () => {
    for (const query of [...panelQueries, ...variableQueries, ...alerts])
      expect(metricsIn(query), query).not.toEqual([]);
  });

  test('leave out no metric', () => {
    const shown = new Set(panelQueries.flatMap(metricsIn));
    const missing = emitted.filter((metric) => !prometheusNames(metric).some((name) => shown.has(name)));
    expect(missing.map(({ descriptor }) => descriptor.name)).toEqual([]);
  });

  test('use spans and attributes that exist', () => {
    const queries = targets.flatMap(({ query }) => query ?? []);
    const text = queries.join('\n');
    const names = [...text.matchAll(/name = "([^"]+)"/g)].map(([, name]) => name);
    const attributes = [...text.matchAll(/span\.([\w.]+)/g)].map(([, name]) => name);
    expect(names).toEqual(['outbox publish']);
    expect(Object.values(OUTBOX_SPANS)).toEqual(expect.arrayContaining(names));
    expect(attributes.length).toBeGreaterThan(3);
    expect(Object.values(OUTBOX_ATTRIBUTES)).toEqual(expect.arrayContaining(attributes));
    expect(dashboard.panels.map(({ type }) => type)).toContain('traces');
  });

  test('have explanations', () => {
    for (const { title, description } of dashboard.panels) expect(description, title).toMatch(/\.$/);
    expect([...read('alerts.yaml').matchAll(/^ {10}(summary|description): "/gm)]).toHaveLength(
      alerts.length * 2,
    );
  });
});

describe('telemetry.md', () => {
  const page = read('telemetry.md');

  test.each([
    ...Object.values(OUTBOX_METRICS).map(({ name }) => name),
    ...Object.values(OUTBOX_SPANS),
    ...Object.values(OUTBOX_ATTRIBUTES),
  ])('explains %s', (name) => {
    expect(page).toContain(`\`${name}\``);
  });

  test('names every alert', () => {
    const names = [...read('alerts.yaml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    for (const name of names) expect(page).toContain(`\`${name}\``);
  });

  test('mentions only Prometheus names that exist', () => {
    const mentioned = [...page.matchAll(/`(outbox_[a-z_]+)`/g)].flatMap(([, name]) => name ?? []);
    const known = new Set([
      ...emittedNames(),
      ...emittedLabels(),
      ...[...emittedNames()].map((name) => name.replace(/_(bucket|sum|count)$/, '')),
    ]);
    expect(mentioned.length).toBeGreaterThan(8);
    expect(mentioned.filter((name) => !known.has(name))).toEqual([]);
  });
});

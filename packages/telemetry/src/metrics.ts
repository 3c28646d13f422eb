import type { Attributes, Counter, Histogram, Meter, MetricOptions } from '@opentelemetry/api';
import type { DeadReason, DispatchSummary } from '@postcommit/core';
import type { OutboxCounter } from '@postcommit/core/internal';
import { MESSAGING_SYSTEM, type MetricDefinition, OUTBOX_ATTRIBUTES, OUTBOX_METRICS } from './attributes.js';

/** The reasons for which a dispatcher gives up a row. */
const REASONS: readonly DeadReason[] = [
  'exhausted',
  'permanent',
  'crashed',
  'expired',
  'no-listener',
  'undecodable',
];
/** Topics whose dead counters start at zero: six series each, of the 2,000 that an SDK keeps by default. */
const TOPICS_FROM_ZERO = 100;

/** Counters and histograms. Their attributes have low cardinality: a topic or an error type, never an id or a key. */
export class OutboxInstruments {
  readonly #attributes: Attributes;
  readonly #dispatched: Counter;
  readonly #failed: Counter;
  readonly #dead: Counter;
  readonly #fenced: Counter;
  readonly #publishDuration: Histogram;
  readonly #dispatchLag: Histogram;
  readonly #contributed: ReadonlyMap<OutboxCounter, Counter>;
  readonly #topics = new Set<string>();

  constructor(meter: Meter, attributes: Attributes, contributed: readonly OutboxCounter[] = []) {
    const counter = (metric: MetricDefinition): Counter =>
      meter.createCounter(metric.name, optionsOf(metric));
    const histogram = (metric: MetricDefinition): Histogram =>
      meter.createHistogram(metric.name, optionsOf(metric));
    this.#attributes = attributes;
    this.#dispatched = counter(OUTBOX_METRICS.dispatched);
    this.#failed = counter(OUTBOX_METRICS.failed);
    this.#dead = counter(OUTBOX_METRICS.dead);
    this.#fenced = counter(OUTBOX_METRICS.fenced);
    this.#publishDuration = histogram(OUTBOX_METRICS.publishDuration);
    this.#dispatchLag = histogram(OUTBOX_METRICS.dispatchLag);
    this.#contributed = new Map(
      contributed.map((item) => [item, counter({ ...item, name: item.metric })] as const),
    );
    // Zeros, so that every series exists before its first increase, which is otherwise no increase to Prometheus.
    for (const own of [this.#dispatched, this.#failed, this.#fenced, ...this.#contributed.values()])
      own.add(0, attributes);
  }

  batchSettled({ dispatched, failed, fenced }: DispatchSummary): void {
    this.#dispatched.add(dispatched, this.#attributes);
    this.#failed.add(failed, this.#attributes);
    this.#fenced.add(fenced, this.#attributes);
  }

  /** The topic's dead rows count from zero, for each reason. Only for the first topics of a process. */
  knowTopic(topic: string): void {
    if (this.#topics.has(topic) || this.#topics.size >= TOPICS_FROM_ZERO) return;
    this.#topics.add(topic);
    for (const reason of REASONS) this.#addDead(0, topic, reason);
  }

  rowDied(topic: string, reason: DeadReason): void {
    this.#addDead(1, topic, reason);
  }

  /** Used where topic and reason are unknown. */
  rowsDied(count: number): void {
    this.#dead.add(count, this.#attributes);
  }

  /** Adds one to a counter that another module contributed. */
  counted(counter: OutboxCounter): void {
    this.#contributed.get(counter)?.add(1, this.#attributes);
  }

  publishStarted(topic: string, lagSeconds: number): void {
    this.knowTopic(topic);
    this.#dispatchLag.record(lagSeconds, { ...this.#attributes, [OUTBOX_ATTRIBUTES.destination]: topic });
  }

  publishEnded(topic: string, durationSeconds: number, errorType: string | undefined): void {
    this.#publishDuration.record(durationSeconds, {
      ...this.#attributes,
      [OUTBOX_ATTRIBUTES.system]: MESSAGING_SYSTEM,
      [OUTBOX_ATTRIBUTES.operationName]: 'publish',
      [OUTBOX_ATTRIBUTES.operationType]: 'send',
      [OUTBOX_ATTRIBUTES.destination]: topic,
      ...(errorType !== undefined && { [OUTBOX_ATTRIBUTES.errorType]: errorType }),
    });
  }

  #addDead(count: number, topic: string, reason: DeadReason): void {
    this.#dead.add(count, {
      ...this.#attributes,
      [OUTBOX_ATTRIBUTES.destination]: topic,
      [OUTBOX_ATTRIBUTES.deadReason]: reason,
    });
  }
}

export function optionsOf({ unit, description, buckets }: MetricDefinition): MetricOptions {
  return {
    unit,
    description,
    ...(buckets && { advice: { explicitBucketBoundaries: [...buckets] } }),
  };
}

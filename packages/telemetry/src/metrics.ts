import type { Attributes, Counter, Histogram, Meter, MetricOptions } from '@opentelemetry/api';
import type { DispatchSummary } from '@postcommit/core';
import { MESSAGING_SYSTEM, type MetricDefinition, OUTBOX_ATTRIBUTES, OUTBOX_METRICS } from './attributes.js';

/** Counters and histograms. Their attributes have few values: a topic or the kind of an error, never an id or a key. */
export class OutboxInstruments {
  readonly #attributes: Attributes;
  readonly #dispatched: Counter;
  readonly #failed: Counter;
  readonly #dead: Counter;
  readonly #fenced: Counter;
  readonly #publishDuration: Histogram;
  readonly #dispatchLag: Histogram;

  constructor(meter: Meter, attributes: Attributes) {
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
  }

  /** Zeros are added too: a series that exists from the first batch shows its first increase. */
  batchSettled({ dispatched, failed, dead, fenced }: DispatchSummary): void {
    this.#dispatched.add(dispatched, this.#attributes);
    this.#failed.add(failed, this.#attributes);
    this.#dead.add(dead, this.#attributes);
    this.#fenced.add(fenced, this.#attributes);
  }

  publishStarted(topic: string, lagSeconds: number): void {
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
}

export function optionsOf({ unit, description, buckets }: MetricDefinition): MetricOptions {
  return {
    unit,
    description,
    ...(buckets && { advice: { explicitBucketBoundaries: [...buckets] } }),
  };
}

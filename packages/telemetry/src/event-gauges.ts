import type { BatchObservableCallback, Meter, ObservableGauge } from '@opentelemetry/api';
import type { DispatchEvents, Lifecycle } from '@postcommit/core';
import { type MetricDefinition, OUTBOX_ATTRIBUTES, OUTBOX_METRICS } from './attributes.js';
import { optionsOf } from './metrics.js';
import {
  type ResolvedTelemetryOptions,
  resolveTelemetryOptions,
  type TelemetryOptions,
} from './telemetry-options.js';
import { TelemetrySources } from './telemetry-sources.js';

/** Each destination that was ever away is a series, of the 2,000 that an SDK keeps by default. */
const MAX_DESTINATIONS = 100;

/**
 * Gauges of what this process reported last: whether its worker runs, and for each destination whether it is away. They
 * are 0 after the end, because an SDK would repeat the last value.
 */
export class EventGauges implements Lifecycle {
  readonly name = 'outbox event metrics';
  readonly #options: ResolvedTelemetryOptions;
  readonly #sources: TelemetrySources;
  readonly #isAway = new Map<string, boolean>();
  #isRunning: boolean | undefined;
  #unregister: (() => void) | undefined;

  /**
   * Without events it observes nothing.
   *
   * @throws OutboxError `INVALID_CONFIG` for an invalid option.
   */
  constructor(events: DispatchEvents | undefined, options: TelemetryOptions = {}) {
    this.#options = resolveTelemetryOptions(options);
    this.#sources = new TelemetrySources(this.#options);
    events?.on('unavailable', ({ destination }) => this.#setAway(destination, true));
    events?.on('available', ({ destination }) => this.#setAway(destination, false));
    events?.on('started', () => this.#setRunning(true));
    events?.on('stopped', () => this.#setRunning(false));
  }

  start(): void {
    const meter = this.#sources.meter;
    if (!meter || this.#unregister) return;
    const unavailable = gaugeOf(meter, OUTBOX_METRICS.unavailable);
    const running = gaugeOf(meter, OUTBOX_METRICS.workerRunning);
    const callback = this.#callback(unavailable, running);
    meter.addBatchObservableCallback(callback, [unavailable, running]);
    this.#unregister = () => meter.removeBatchObservableCallback(callback, [unavailable, running]);
  }

  stop(): void {
    this.#unregister?.();
    this.#unregister = undefined;
  }

  #callback(unavailable: ObservableGauge, running: ObservableGauge): BatchObservableCallback {
    const { attributes } = this.#options;
    return (result) => {
      // A process without a worker, which only enqueues, must not look like one that has stopped.
      if (this.#isRunning !== undefined) result.observe(running, Number(this.#isRunning), attributes);
      for (const [destination, isAway] of this.#isAway)
        result.observe(unavailable, Number(isAway), {
          ...attributes,
          [OUTBOX_ATTRIBUTES.unavailableDestination]: destination,
        });
    };
  }

  #setRunning(isRunning: boolean): void {
    this.#isRunning = isRunning;
  }

  #setAway(destination: string, isAway: boolean): void {
    if (this.#isAway.has(destination) || this.#isAway.size < MAX_DESTINATIONS)
      this.#isAway.set(destination, isAway);
  }
}

function gaugeOf(meter: Meter, metric: MetricDefinition): ObservableGauge {
  return meter.createObservableGauge(metric.name, optionsOf(metric));
}

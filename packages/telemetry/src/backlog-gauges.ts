import {
  type BatchObservableCallback,
  type Counter,
  diag,
  type Meter,
  type ObservableGauge,
} from '@opentelemetry/api';
import type { Lifecycle, OutboxBacklog, OutboxStore } from '@postcommit/core';
import { BoundedWaits } from '@postcommit/core/internal';
import { OUTBOX_METRICS } from './attributes.js';
import { failureOf } from './failure.js';
import { optionsOf } from './metrics.js';
import {
  type ResolvedTelemetryOptions,
  resolveTelemetryOptions,
  type TelemetryOptions,
} from './telemetry-options.js';
import { TelemetrySources } from './telemetry-sources.js';

interface BacklogInstruments {
  readonly pending: ObservableGauge;
  readonly oldestPendingAge: ObservableGauge;
  readonly failures: Counter;
}

/**
 * Gauges of the backlog, read from the store at each collection of metrics while the application runs. If the store
 * fails or is slow, the other metrics are still exported. The SDK then repeats the last value of a gauge, which hides the
 * failure, so a separate metric counts such failures.
 */
export class BacklogGauges implements Lifecycle {
  readonly name = 'outbox backlog metrics';
  readonly #store: OutboxStore | undefined;
  readonly #options: ResolvedTelemetryOptions;
  readonly #sources: TelemetrySources;
  readonly #waits: BoundedWaits;
  #reading: Promise<OutboxBacklog> | undefined;
  #unregister: (() => void) | undefined;

  /**
   * Without a store it does nothing.
   *
   * @throws OutboxError `INVALID_CONFIG` for an invalid option.
   */
  constructor(store: OutboxStore | undefined, options: TelemetryOptions = {}) {
    this.#store = store;
    this.#options = resolveTelemetryOptions(options);
    this.#sources = new TelemetrySources(this.#options);
    this.#waits = new BoundedWaits(
      this.#options.clock,
      (_, limitMs) => new Error(`no answer in ${limitMs} ms`),
    );
  }

  start(): void {
    const store = this.#store;
    const meter = this.#sources.meter;
    if (!store || !meter || this.#unregister) return;
    const instruments = instrumentsOf(meter);
    const gauges = [instruments.pending, instruments.oldestPendingAge];
    // Starts the series at zero, so that its first increase is visible.
    instruments.failures.add(0, this.#options.attributes);
    const callback = this.#callback(store, instruments);
    meter.addBatchObservableCallback(callback, gauges);
    this.#unregister = () => meter.removeBatchObservableCallback(callback, gauges);
  }

  /** A collection that is waiting for the store continues without the backlog. */
  stop(): void {
    this.#unregister?.();
    this.#unregister = undefined;
    this.#waits.giveUp(new Error('the application has stopped'));
  }

  #callback(store: OutboxStore, instruments: BacklogInstruments): BatchObservableCallback {
    const { pending, oldestPendingAge, failures } = instruments;
    const { attributes, backlogTimeoutMs } = this.#options;
    return async (result) => {
      try {
        const backlog = await this.#waits.within(backlogTimeoutMs, 'backlog', this.#read(store));
        result.observe(pending, backlog.pending, attributes);
        result.observe(oldestPendingAge, backlog.oldestPendingAgeMs / 1_000, attributes);
      } catch (error) {
        if (!this.#unregister) return;
        failures.add(1, attributes);
        diag.warn(`could not read the outbox backlog: ${failureOf(error).message}`);
      }
    };
  }

  /** One read at a time: collections that start during a slow read share its result. */
  #read(store: OutboxStore): Promise<OutboxBacklog> {
    this.#reading ??= (async () => store.backlog(this.#options.backlogAtMost))().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }
}

function instrumentsOf(meter: Meter): BacklogInstruments {
  const { pending, oldestPendingAge, backlogFailures } = OUTBOX_METRICS;
  return {
    pending: meter.createObservableGauge(pending.name, optionsOf(pending)),
    oldestPendingAge: meter.createObservableGauge(oldestPendingAge.name, optionsOf(oldestPendingAge)),
    failures: meter.createCounter(backlogFailures.name, optionsOf(backlogFailures)),
  };
}

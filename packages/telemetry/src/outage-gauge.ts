import type { ObservableCallback } from '@opentelemetry/api';
import type { DispatchEvents, Lifecycle } from '@postcommit/core';
import { OUTBOX_ATTRIBUTES, OUTBOX_METRICS } from './attributes.js';
import { optionsOf } from './metrics.js';
import {
  type ResolvedTelemetryOptions,
  resolveTelemetryOptions,
  type TelemetryOptions,
} from './telemetry-options.js';
import { TelemetrySources } from './telemetry-sources.js';

/** Each destination that was ever away is a series, of the 2,000 that an SDK keeps by default. */
const MAX_DESTINATIONS = 100;

/** A gauge that is 1 for each destination that is away, and 0 after it is back: an SDK would repeat the last value. */
export class OutageGauge implements Lifecycle {
  readonly name = 'outbox outage metrics';
  readonly #options: ResolvedTelemetryOptions;
  readonly #sources: TelemetrySources;
  readonly #isAway = new Map<string, boolean>();
  #unregister: (() => void) | undefined;

  /**
   * Without events it observes nothing.
   *
   * @throws OutboxError `INVALID_CONFIG` for an invalid option.
   */
  constructor(events: DispatchEvents | undefined, options: TelemetryOptions = {}) {
    this.#options = resolveTelemetryOptions(options);
    this.#sources = new TelemetrySources(this.#options);
    events?.on('unavailable', ({ destination }) => this.#set(destination, true));
    events?.on('available', ({ destination }) => this.#set(destination, false));
  }

  start(): void {
    const meter = this.#sources.meter;
    if (!meter || this.#unregister) return;
    const { unavailable } = OUTBOX_METRICS;
    const gauge = meter.createObservableGauge(unavailable.name, optionsOf(unavailable));
    const callback: ObservableCallback = (result) => {
      for (const [destination, isAway] of this.#isAway)
        result.observe(isAway ? 1 : 0, {
          ...this.#options.attributes,
          [OUTBOX_ATTRIBUTES.unavailableDestination]: destination,
        });
    };
    gauge.addCallback(callback);
    this.#unregister = () => gauge.removeCallback(callback);
  }

  stop(): void {
    this.#unregister?.();
    this.#unregister = undefined;
  }

  #set(destination: string, isAway: boolean): void {
    if (this.#isAway.has(destination) || this.#isAway.size < MAX_DESTINATIONS)
      this.#isAway.set(destination, isAway);
  }
}

import {
  createNoopMeter,
  type Meter,
  type MeterProvider,
  metrics,
  ProxyTracerProvider,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { OutboxCounter } from '@postcommit/core/internal';
import { TELEMETRY_SCOPE } from './attributes.js';
import { OutboxInstruments } from './metrics.js';
import type { ResolvedTelemetryOptions } from './telemetry-options.js';

/**
 * The current tracer, meter and instruments; undefined if no SDK is registered, so that nothing is created needlessly.
 * An SDK may be registered after the application was composed, so the provider is looked up at every use.
 */
export class TelemetrySources {
  readonly #options: ResolvedTelemetryOptions;
  readonly #counters: readonly OutboxCounter[];
  #tracerProvider: TracerProvider | undefined;
  #tracer: Tracer | undefined;
  #meterProvider: MeterProvider | undefined;
  #meter: Meter | undefined;
  #instruments: OutboxInstruments | undefined;

  constructor(options: ResolvedTelemetryOptions, counters: readonly OutboxCounter[] = []) {
    this.#options = options;
    this.#counters = counters;
  }

  get tracer(): Tracer | undefined {
    const provider = behindProxy(this.#options.tracerProvider ?? trace.getTracerProvider());
    if (provider !== this.#tracerProvider) {
      this.#tracerProvider = provider;
      this.#tracer = isNoopProvider(provider) ? undefined : provider.getTracer(TELEMETRY_SCOPE);
    }
    return this.#tracer;
  }

  get meter(): Meter | undefined {
    this.#useMeterProvider(this.#options.meterProvider ?? metrics.getMeterProvider());
    return this.#meter;
  }

  get instruments(): OutboxInstruments | undefined {
    this.#useMeterProvider(this.#options.meterProvider ?? metrics.getMeterProvider());
    this.#instruments ??=
      this.#meter && new OutboxInstruments(this.#meter, this.#options.attributes, this.#counters);
    return this.#instruments;
  }

  #useMeterProvider(provider: MeterProvider): void {
    if (provider === this.#meterProvider) return;
    const meter = provider.getMeter(TELEMETRY_SCOPE);
    this.#meterProvider = provider;
    this.#meter = meter === createNoopMeter() ? undefined : meter;
    this.#instruments = undefined;
  }
}

/** The global tracer provider is always a proxy; its delegate changes when an SDK is registered. */
function behindProxy(provider: TracerProvider): TracerProvider {
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}

function isNoopProvider(provider: TracerProvider): boolean {
  return provider === new ProxyTracerProvider().getDelegate();
}

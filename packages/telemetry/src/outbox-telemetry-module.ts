import {
  type Contribution,
  contributeFactory,
  DispatchEvents,
  EnqueuePipeline,
  type Lifecycle,
  Lifecycles,
  type Module,
  OutboxCounters,
  OutboxInterceptors,
  OutboxStore,
  optional,
  provideFactory,
} from '@postcommit/core';
import { BacklogGauges } from './backlog-gauges.js';
import { EventGauges } from './event-gauges.js';
import { StartupSpan } from './startup-span.js';
import { TelemetryInterceptor } from './telemetry-interceptor.js';
import { resolveTelemetryOptions, type TelemetryOptions } from './telemetry-options.js';

/** Starts the counters at zero before the first batch: an increase from nothing to one is none to Prometheus. */
const COUNTERS: Contribution<Lifecycle> = contributeFactory(
  Lifecycles,
  [TelemetryInterceptor, optional(EnqueuePipeline)],
  (interceptor, pipeline): Lifecycle => ({
    name: 'outbox counters',
    phase: 'resource',
    start: () => interceptor.startCounters(pipeline?.topics ?? []),
    stop: () => {},
  }),
);

/**
 * Adds OpenTelemetry spans, metrics and context propagation. Register your SDK before `app.start()`. Use it as a module
 * with all defaults, or pass options to `forRoot`.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for an invalid option.
 * @example
 * OutboxTelemetryModule.forRoot({ attributes: { 'outbox.name': 'orders' } })
 */
export const OutboxTelemetryModule: Module & { forRoot(options?: TelemetryOptions): Module } = {
  ...telemetryModule({}),
  forRoot: (options = {}) => telemetryModule(options),
};

function telemetryModule(options: TelemetryOptions): Module {
  // Report an invalid option here, at the call, not at the first row.
  resolveTelemetryOptions(options);
  return {
    name: 'OutboxTelemetryModule',
    provides: [
      { provide: StartupSpan, useFactory: () => new StartupSpan() },
      provideFactory(
        TelemetryInterceptor,
        [StartupSpan, optional(DispatchEvents), OutboxCounters],
        (startup, events, counters) => new TelemetryInterceptor(options, { startup, events, counters }),
      ),
    ],
    contributes: [
      { to: OutboxInterceptors, useExisting: TelemetryInterceptor },
      { to: Lifecycles, useExisting: StartupSpan },
      COUNTERS,
      contributeFactory(Lifecycles, [optional(OutboxStore)], (store) => new BacklogGauges(store, options)),
      contributeFactory(Lifecycles, [optional(DispatchEvents)], (events) => new EventGauges(events, options)),
    ],
  };
}

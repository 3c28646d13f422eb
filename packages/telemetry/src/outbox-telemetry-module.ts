import {
  contributeFactory,
  DispatchEvents,
  Lifecycles,
  type Module,
  OutboxCounters,
  OutboxInterceptors,
  OutboxStore,
  optional,
} from '@postcommit/core';
import { BacklogGauges } from './backlog-gauges.js';
import { OutageGauge } from './outage-gauge.js';
import { StartupSpan } from './startup-span.js';
import { TelemetryInterceptor } from './telemetry-interceptor.js';
import { resolveTelemetryOptions, type TelemetryOptions } from './telemetry-options.js';

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
    provides: [{ provide: StartupSpan, useFactory: () => new StartupSpan() }],
    contributes: [
      contributeFactory(
        OutboxInterceptors,
        [StartupSpan, optional(DispatchEvents), OutboxCounters],
        (startup, events, counters) => new TelemetryInterceptor(options, { startup, events, counters }),
      ),
      { to: Lifecycles, useExisting: StartupSpan },
      contributeFactory(Lifecycles, [optional(OutboxStore)], (store) => new BacklogGauges(store, options)),
      contributeFactory(Lifecycles, [optional(DispatchEvents)], (events) => new OutageGauge(events, options)),
    ],
  };
}

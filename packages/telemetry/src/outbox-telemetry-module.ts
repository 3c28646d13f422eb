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
import { StartupSpan } from './startup-span.js';
import { TelemetryInterceptor } from './telemetry-interceptor.js';
import { resolveTelemetryOptions, type TelemetryOptions } from './telemetry-options.js';

/**
 * OpenTelemetry spans, metrics and context propagation. A module itself, with all defaults; `forRoot` takes
 * options. Register your SDK before `app.start()`.
 */
export const OutboxTelemetryModule: Module & { forRoot(options?: TelemetryOptions): Module } = {
  ...telemetryModule({}),
  forRoot: (options = {}) => telemetryModule(options),
};

function telemetryModule(options: TelemetryOptions): Module {
  // Refuses nonsense here, where it was written, not when the first row comes.
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
    ],
  };
}

// Names
export type { MetricDefinition } from './attributes.js';
export {
  MESSAGING_SYSTEM,
  OUTBOX_ATTRIBUTES,
  OUTBOX_METRICS,
  OUTBOX_SPANS,
  TELEMETRY_SCOPE,
} from './attributes.js';
// Parts, to compose without modules
export { BacklogGauges } from './backlog-gauges.js';
// The module
export { OutboxTelemetryModule } from './outbox-telemetry-module.js';
export { StartupSpan } from './startup-span.js';
export type { TelemetryParts } from './telemetry-interceptor.js';
export { TelemetryInterceptor } from './telemetry-interceptor.js';
export type { TelemetryClock, TelemetryOptions } from './telemetry-options.js';

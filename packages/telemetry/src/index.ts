// The module
export { OutboxTelemetryModule } from './outbox-telemetry-module.js';
export type { TelemetryOptions } from './telemetry-options.js';

// Parts, to compose without modules
export { BacklogGauges } from './backlog-gauges.js';
export { TelemetryInterceptor } from './telemetry-interceptor.js';

// Names
export { OUTBOX_ATTRIBUTES, OUTBOX_METRICS, OUTBOX_SPANS } from './attributes.js';

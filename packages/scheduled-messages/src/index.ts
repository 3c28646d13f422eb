// Scheduling
export { ScheduleService } from './schedule-service.js';
export type { ScheduleSpec } from './schedule-spec.js';
export type { ScheduledMessage, ScheduleStatus } from './scheduled-message.js';
export { ScheduleError } from './schedule-error.js';

// Listening
export type { ScheduleArrived as IScheduleArrivedEvent } from './schedule-events.js';
export { ScheduleArrived, ScheduleFailed } from './schedule-events.js';

// The module
export type { ScheduledMessagesModuleOptions } from './scheduled-messages-module.js';
export { ScheduledMessagesModule } from './scheduled-messages-module.js';

// Messages that nobody listens to
export { NoListenerCounter } from './no-listener-counter.js';

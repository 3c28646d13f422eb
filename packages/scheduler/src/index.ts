// Jobs
export type { JobContext, ScheduledJob } from './scheduled-job.js';
export { ScheduledJobsPool } from './scheduled-job.js';
export { requireScheduler } from './require-scheduler.js';
export { assertJobSchedule } from './schedule.js';

// Running them
export { CronerScheduler } from './croner-scheduler.js';
export { Scheduler } from './scheduler.js';
export { SchedulerCronerModule } from './scheduler-croner-module.js';
export type { SchedulerEventMap } from './scheduler-events.js';
export { SchedulerEvents } from './scheduler-events.js';

// The outbox's own job
export { OutboxDispatchJob } from './outbox-dispatch-job.js';
export type { OutboxSchedulerModuleOptions } from './outbox-scheduler-module.js';
export { OutboxSchedulerModule } from './outbox-scheduler-module.js';

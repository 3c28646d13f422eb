// Jobs

export { CronerScheduler } from './croner-scheduler.js';
export type { JobRunnerOptions } from './job-runner.js';
// The outbox's own job
export type { OutboxDispatchJobOptions } from './outbox-dispatch-job.js';
export { OutboxDispatchJob } from './outbox-dispatch-job.js';
export type { OutboxSchedulerModuleOptions } from './outbox-scheduler-module.js';
export { OutboxSchedulerModule } from './outbox-scheduler-module.js';
export { requireScheduler } from './require-scheduler.js';
export type { JobSchedule } from './schedule.js';
export { assertJobSchedule } from './schedule.js';
export type { JobContext, ScheduledJob } from './scheduled-job.js';
export { ScheduledJobsPool } from './scheduled-job.js';
// Running them
export type { PlannedJob } from './scheduler.js';
export { Scheduler } from './scheduler.js';
export { SchedulerCronerModule } from './scheduler-croner-module.js';
export type { SchedulerEventListener, SchedulerEventMap, SchedulerEventName } from './scheduler-events.js';
export { SchedulerEvents } from './scheduler-events.js';

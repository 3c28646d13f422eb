import { composeModules, type OutboxApp, OutboxModule, type OutboxRow, OutboxStore } from '@postcommit/core';
import {
  OutboxSchedulerModule,
  type OutboxSchedulerModuleOptions,
  type ScheduledJob,
  ScheduledJobsPool,
  SchedulerCronerModule,
} from '@postcommit/scheduler';
import { MemoryTable, OutboxMemoryModule, VirtualClock } from '@postcommit/store-memory';

export interface DispatchFixture {
  readonly app: OutboxApp;
  readonly store: OutboxStore;
  readonly job: ScheduledJob;
  readonly clock: VirtualClock;
  /** The topic of every try, in order. */
  readonly tried: string[];
}

/** An application with the dispatch job on a virtual clock; it is not started: tests call the job. */
export function createDispatchFixture(
  publish: (row: OutboxRow) => Promise<void> | void = () => {},
  { batchSize = 50, ...options }: OutboxSchedulerModuleOptions & { batchSize?: number } = {},
): DispatchFixture {
  const clock = new VirtualClock();
  const tried: string[] = [];
  const publisher = async (row: OutboxRow): Promise<void> => {
    tried.push(row.topic);
    // Publishing takes time: a row that fails is due after those that wait.
    await clock.advance(1);
    await publish(row);
  };
  const app = composeModules([
    OutboxModule.forRoot({ publisher, batchSize }),
    OutboxMemoryModule.forRoot({ table: new MemoryTable(clock) }),
    SchedulerCronerModule,
    OutboxSchedulerModule.forRoot(options),
  ]);
  const [job] = app.get(ScheduledJobsPool);
  if (!job) throw new Error('the module contributed no job');
  return { app, store: app.get(OutboxStore), job, clock, tried };
}

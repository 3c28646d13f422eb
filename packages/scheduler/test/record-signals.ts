import { type SchedulerEventMap, type SchedulerEventName, SchedulerEvents } from '@postcommit/scheduler';

const ALL: readonly SchedulerEventName[] = [
  'finished',
  'failed',
  'interrupted',
  'skipped',
  'lockLost',
  'abandoned',
];

export type Told = { readonly signal: SchedulerEventName } & Partial<
  SchedulerEventMap['skipped'] | SchedulerEventMap['failed'] | SchedulerEventMap['interrupted']
>;

/** Signals that write down all they tell. */
export function recordSignals(events = new SchedulerEvents()): { events: SchedulerEvents; told: Told[] } {
  const told: Told[] = [];
  for (const signal of ALL) events.on(signal, (what) => void told.push({ signal, ...what }));
  return { events, told };
}

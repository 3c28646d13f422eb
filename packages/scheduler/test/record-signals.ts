import { type SchedulerEventMap, SchedulerEvents } from '@postcommit/scheduler';
import type { SchedulerEventName } from '../src/scheduler-events.js';

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

/** Events that are recorded in order. */
export function recordSignals(events = new SchedulerEvents()): { events: SchedulerEvents; told: Told[] } {
  const told: Told[] = [];
  for (const signal of ALL) events.on(signal, (what) => void told.push({ signal, ...what }));
  return { events, told };
}

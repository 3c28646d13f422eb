import { type SchedulerSignal, type SchedulerSignalMap, SchedulerSignals } from '@postcommit/scheduler';

const ALL: readonly SchedulerSignal[] = [
  'finished',
  'failed',
  'interrupted',
  'skipped',
  'lockLost',
  'abandoned',
];

export type Told = { readonly signal: SchedulerSignal } & Partial<
  SchedulerSignalMap['skipped'] | SchedulerSignalMap['failed'] | SchedulerSignalMap['interrupted']
>;

/** Signals that write down all they tell. */
export function recordSignals(signals = new SchedulerSignals()): { signals: SchedulerSignals; told: Told[] } {
  const told: Told[] = [];
  for (const signal of ALL) signals.on(signal, (what) => void told.push({ signal, ...what }));
  return { signals, told };
}

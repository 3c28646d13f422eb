import type { PurgeReport, Retention } from './retention.js';

/** Describes in one line what a sweep deleted. */
export function purgeLine(report: PurgeReport, retention: Retention): string {
  const parts = [
    part(report.dispatched, 'dispatched row', retention.retentionMs),
    part(report.dead, 'dead row', retention.deadRetentionMs),
    part(report.processed, 'processed message', retention.processedRetentionMs),
  ];
  return `${retention.name}: deleted ${parts.flat().join(', ')}`;
}

function part(count: number, what: string, ageMs = 0): string[] {
  return count > 0 ? [`${counted(count, what)} older than ${ageText(ageMs)}`] : [];
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** In the largest unit with a whole number. */
function ageText(ageMs: number): string {
  const unit = UNITS.find(([, unitMs]) => ageMs % unitMs === 0);
  return unit ? counted(ageMs / unit[1], unit[0]) : `${ageMs} ms`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

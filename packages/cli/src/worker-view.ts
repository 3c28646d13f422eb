import { HEARTBEAT_MS, type WorkerOutage, type WorkerRecord } from '@postcommit/core/internal';
import { durationText } from './age-format.js';

/** A worker that missed more than two heartbeats. */
const SILENT_MS = 2 * HEARTBEAT_MS;

/** A worker among those that share the outbox. */
export interface WorkerView extends WorkerRecord {
  readonly isSilent: boolean;
  /** When others take over the claims of a silent worker. Absent if nobody is there to do so. */
  readonly takenOverInMs?: number;
}

export function viewWorkers(records: readonly WorkerRecord[]): WorkerView[] {
  const hasOthers = records.some((record) => !record.isLost && !isSilent(record));
  return records.map((record) => ({
    ...record,
    outages: record.outages.map((outage) => asOfNow(outage, record)),
    isSilent: isSilent(record),
    ...(isSilent(record) && hasOthers && { takenOverInMs: takenOverInMs(record) }),
  }));
}

/** What happens to its claims; undefined for a worker that sends heartbeats. */
export function fateOf({ isLost, isSilent, takeoverMs, takenOverInMs }: WorkerView): string | undefined {
  if (isLost) return 'lost';
  if (!isSilent) return undefined;
  if (takenOverInMs === undefined)
    return `taken over ${durationText(takeoverMs)} after another worker has started`;
  return takenOverInMs === 0 ? 'about to be taken over' : `taken over in ${durationText(takenOverInMs)}`;
}

function isSilent({ lastSeenAgeMs }: WorkerRecord): boolean {
  return lastSeenAgeMs > SILENT_MS;
}

function takenOverInMs({ takeoverMs, lastSeenAgeMs }: WorkerRecord): number {
  return Math.max(0, takeoverMs - lastSeenAgeMs);
}

/** The record is as old as the heartbeat that wrote it. */
function asOfNow(outage: WorkerOutage, { lastSeenAgeMs }: WorkerRecord): WorkerOutage {
  return {
    ...outage,
    sinceMs: outage.sinceMs + lastSeenAgeMs,
    nextTryInMs: Math.max(0, outage.nextTryInMs - lastSeenAgeMs),
  };
}

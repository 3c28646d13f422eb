import { durationText } from './age-format.js';
import type { Notes, PausedCount, SharedOutage } from './notes.js';
import { quoted } from './printable.js';
import { fateOf, type WorkerView } from './worker-view.js';

export function noteLine(text: string): string {
  return `note=${quoted(text)}`;
}

/** The part of a JSON document: only what there is something to say about. */
export function noteJson(notes: Notes | undefined): Record<string, unknown> {
  if (!notes) return {};
  const { silentWorkers, outages, paused } = notes;
  const silent = silentWorkers.map(
    ({ id, host, pid, lastSeenAgeMs, takenOverInMs, isLost, rowsInFlight }) => {
      return { id, host, pid, lastSeenAgeMs, takenOverInMs, isLost, rowsInFlight };
    },
  );
  const all = { silentWorkers: silent, outages, paused };
  return Object.fromEntries(Object.entries(all).filter(([, list]) => list.length > 0));
}

export function noteTexts(notes: Notes | undefined): string[] {
  if (!notes) return [];
  return [
    ...notes.silentWorkers.map(silentText),
    ...notes.outages.map(outageText),
    ...notes.paused.map(pausedText),
  ];
}

/** For the doctor: how workers learn of rows that other processes enqueue. */
export function pollingTexts(notes: Notes | undefined): string[] {
  const { listening, polling } = notes?.workers ?? { listening: 0, polling: 0 };
  if (polling === 0) return [];
  const workers = `${polling} of ${listening + polling} ${listening + polling === 1 ? 'worker' : 'workers'}`;
  return [
    `${workers} ${polling === 1 ? 'polls' : 'poll'}: rows that other processes enqueue wait for the next poll`,
  ];
}

function silentText(worker: WorkerView): string {
  const { rowsInFlight, lastSeenAgeMs, host, pid } = worker;
  const held = `${rowsOf(rowsInFlight)} ${rowsInFlight === 1 ? 'is' : 'are'} held by a worker`;
  const who = rowsInFlight > 0 ? held : 'a worker was';
  return `${who} last seen ${durationText(lastSeenAgeMs)} ago, ${fateOf(worker)} (process ${pid} on ${host})`;
}

function outageText({ destination, sinceMs, nextTryInMs, error, workers }: SharedOutage): string {
  const next = nextTryInMs > 0 ? `in ${durationText(nextTryInMs)}` : 'now';
  const finders = workers === 1 ? '' : ` (found by ${workers} workers)`;
  return `destination '${destination}' has been away for ${durationText(sinceMs)}, next try ${next}: ${error}${finders}`;
}

function pausedText({ topic, sinceMs, pending }: PausedCount): string {
  const waiting = pending === undefined ? '' : `, ${rowsOf(pending)} pending`;
  return `topic '${topic}' has been paused for ${durationText(sinceMs)}${waiting}`;
}

function rowsOf(count: number): string {
  return `${count} ${count === 1 ? 'row' : 'rows'}`;
}

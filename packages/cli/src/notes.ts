import { isOutboxError, type OutboxApp, OutboxPauses, OutboxStore } from '@postcommit/core';
import { OutboxWorkers, type WorkerOutage } from '@postcommit/core/internal';
import { maskOutage } from './worker-format.js';
import { viewWorkers, type WorkerView } from './worker-view.js';

/** Paused topics whose rows are counted: each count reads the rows. */
const MAX_COUNTED = 20;

export interface PausedCount {
  readonly topic: string;
  readonly sinceMs: number;
  /** Absent beyond the first topics. */
  readonly pending?: number;
}

/** An outage of a destination, as the worker knows it that has found it away for longest. */
export interface SharedOutage extends WorkerOutage {
  readonly workers: number;
}

/** Why rows wait, although nothing is wrong with the tables. */
export interface Notes {
  /** Workers that missed two heartbeats, and those that were declared lost. */
  readonly silentWorkers: readonly WorkerView[];
  readonly outages: readonly SharedOutage[];
  readonly paused: readonly PausedCount[];
  /** Of all workers that send heartbeats: how many are listening, and how many poll. */
  readonly workers: { readonly listening: number; readonly polling: number };
}

/** Undefined until an upgrade has created the tables. */
export async function takeNotes(app: OutboxApp): Promise<Notes | undefined> {
  try {
    const records = app.has(OutboxWorkers) ? await app.get(OutboxWorkers).list() : [];
    const workers = viewWorkers(records);
    const live = workers.filter(({ isSilent, isLost }) => !isSilent && !isLost);
    const listening = live.filter(({ isListening }) => isListening).length;
    return {
      silentWorkers: workers.filter((worker) => !live.includes(worker)),
      outages: outagesOf(live),
      paused: await pausedCounts(app),
      workers: { listening, polling: live.length - listening },
    };
  } catch (error) {
    if (isOutboxError(error) && error.code === 'SCHEMA_OUTDATED') return undefined;
    throw error;
  }
}

async function pausedCounts(app: OutboxApp): Promise<PausedCount[]> {
  if (!app.has(OutboxPauses)) return [];
  const paused = await app.get(OutboxPauses).list();
  const counts: PausedCount[] = [];
  for (const { topic, sinceMs } of paused.slice(0, MAX_COUNTED)) {
    const { pending } = await app.get(OutboxStore).count({ state: 'pending', topic });
    counts.push({ topic, sinceMs, pending });
  }
  return [...counts, ...paused.slice(MAX_COUNTED)];
}

function outagesOf(workers: readonly WorkerView[]): SharedOutage[] {
  const found = new Map<string, SharedOutage>();
  for (const outage of workers.flatMap(({ outages }) => outages)) {
    const known = found.get(outage.destination);
    const longest = known && known.sinceMs >= outage.sinceMs ? known : outage;
    found.set(outage.destination, { ...longest, workers: (known?.workers ?? 0) + 1 });
  }
  return [...found.values()].map(maskOutage);
}

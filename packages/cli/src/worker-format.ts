import type { WorkerOutage } from '@postcommit/core/internal';
import { maskSecrets } from '@postcommit/core/internal';
import { agoText, durationText } from './age-format.js';
import { quoted, word } from './printable.js';
import { formatTable } from './table.js';
import { fateOf, type WorkerView } from './worker-view.js';

/** `3f9a… host=web-1 pid=4711 version=1.2.0 started="2 h ago" lastSeen="3 s ago" rowsInFlight=100 listening` */
export function workerLines(worker: WorkerView): string[] {
  const fate = fateOf(worker);
  const fields = [
    word(worker.id),
    `host=${word(worker.host)}`,
    `pid=${worker.pid}`,
    `version=${word(worker.version)}`,
    `started=${quoted(agoText(worker.startedAgeMs))}`,
    `lastSeen=${quoted(agoText(worker.lastSeenAgeMs))}`,
    `rowsInFlight=${worker.rowsInFlight}`,
    hearing(worker),
    ...(fate === undefined ? [] : [`fate=${quoted(fate)}`]),
  ];
  return [fields.join(' '), ...worker.outages.map((outage) => outageLine(outage, worker))];
}

export function outageLine(
  { destination, sinceMs, nextTryInMs, error }: WorkerOutage,
  { id }: WorkerView,
): string {
  const times = `since=${quoted(agoText(sinceMs))} nextTry=${quoted(nextTryText(nextTryInMs))}`;
  return `outage worker=${word(id)} destination=${word(destination)} ${times} error=${quoted(maskSecrets(error))}`;
}

export function workerJson(worker: WorkerView): Record<string, unknown> {
  const { isSilent: _, outages, ...fields } = worker;
  return { ...fields, outages: outages.map(maskOutage) };
}

export function maskOutage<Outage extends WorkerOutage>(outage: Outage): Outage {
  return { ...outage, error: maskSecrets(outage.error) };
}

export function workerTable(workers: readonly WorkerView[], columns: number): string[] {
  if (workers.length === 0) return ['no workers'];
  const cells = workers.map((worker) => [
    worker.id,
    worker.host,
    String(worker.pid),
    worker.version,
    agoText(worker.startedAgeMs),
    agoText(worker.lastSeenAgeMs),
    String(worker.rowsInFlight),
    [hearing(worker), fateOf(worker)].filter(Boolean).join(', '),
  ]);
  const names = ['id', 'host', 'pid', 'version', 'started', 'last seen', 'rows', 'state'];
  return [...formatTable(names, cells, columns), ...outageTable(workers, columns)];
}

/** An empty line and a table, or nothing if no destination is away. */
export function outageTable(workers: readonly WorkerView[], columns: number): string[] {
  const cells = workers.flatMap(({ id, outages }) =>
    outages.map(({ destination, sinceMs, nextTryInMs, error }) => [
      destination,
      id,
      agoText(sinceMs),
      nextTryText(nextTryInMs),
      maskSecrets(error),
    ]),
  );
  if (cells.length === 0) return [];
  return ['', ...formatTable(['away', 'worker', 'since', 'next try', 'error'], cells, columns)];
}

/** How it learns of rows that other processes enqueue. */
function hearing({ isListening }: WorkerView): string {
  return isListening ? 'listening' : 'polling';
}

function nextTryText(ms: number): string {
  return ms === 0 ? 'now' : `in ${durationText(ms)}`;
}

import pg from 'pg';
import type { FromConsumer, Published } from './consumers.js';
import { monotonicMs } from './subject.js';
import { loadSubject } from './subjects/one.js';

/** A consumer in a separate process. The benchmark selects the subject, and starts and stops it. */
const FLUSH_MS = 20;
/** A collection takes some milliseconds, which are not the subject's. */
const HEAP_MS = 500;
const { BENCH_SUBJECT = '', BENCH_URL: url = '', BENCH_DATABASE: name = '', BENCH_HEAP } = process.env;

// Ctrl+C is for the benchmark, which then lets go of the channel.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());

const pool = new pg.Pool({ connectionString: url, max: 30 });
const subject = await (await loadSubject(BENCH_SUBJECT)).open({ name, url, pool });
if (!subject.consume) throw new Error(`${BENCH_SUBJECT} has no consumer`);

let unsent: Published[] = [];
let heapAtMs = 0;
const flush = (): void => {
  if (unsent.length === 0) return;
  const heap = BENCH_HEAP && monotonicMs() >= heapAtMs ? { heapMiB: heapMiB() } : {};
  send({ kind: 'published', batches: unsent, ...heap });
  unsent = [];
};
const timer = setInterval(flush, FLUSH_MS);

function heapMiB(): number {
  heapAtMs = monotonicMs() + HEAP_MS;
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

function send(message: FromConsumer): void {
  process.send?.(message);
}

const commands: Record<string, () => Promise<void>> = {
  start: async () => {
    const consumer = await subject.consume?.((orders) => unsent.push({ at: monotonicMs(), orders }));
    commands.stop = async () => {
      await consumer?.stop();
      clearInterval(timer);
      flush();
      await subject.close();
      await pool.end();
      send({ kind: 'stopped', peakMiB: process.resourceUsage().maxRSS / 1024 });
    };
    send({ kind: 'started' });
  },
};
process.on('message', (command) => void commands[String(command)]?.());
send({ kind: 'up' });

import pg from 'pg';
import { makeWorker } from './subjects/postcommit-worker.js';

/** A worker in a process of its own; the benchmark tells it when to start and to stop. */
const url = process.env.BENCH_URL ?? '';
const pool = new pg.Pool({ connectionString: url, max: 10 });
let published = 0;
const worker = makeWorker({ url, pool }, (rows) => {
  published += rows.length;
});

process.on('message', async (command) => {
  if (command === 'start') worker.start();
  if (command !== 'stop') return;
  await worker.stop();
  process.send?.(published);
});
process.on('disconnect', () => void pool.end());
process.send?.('up');

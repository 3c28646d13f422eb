import pg from 'pg';
import { workerApp } from './subjects/postcommit-worker.js';

/** A worker in a process of its own; the benchmark tells it when to start and to stop. */
const pool = new pg.Pool({ connectionString: process.env.BENCH_URL, max: 10 });
let published = 0;
const app = workerApp({ url: process.env.BENCH_URL ?? '', pool }, (rows) => {
  published += rows.length;
});

process.on('message', async (command) => {
  if (command === 'start') await app.start();
  if (command !== 'stop') return;
  await app.stop();
  process.send?.(published);
});
process.on('disconnect', () => void pool.end());
process.send?.('up');

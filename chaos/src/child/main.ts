/** A process of the run: what it is and does stands in its environment, and commands come by IPC. */
import { composeModules, OutboxModule, OutboxSchema } from '@postcommit/core';
import type pg from '../../../internal/test-database/src/pg.js';
import { Ledger } from '../ledger.js';
import type { ChildConfig, Command } from '../messages.js';
import { Producer } from '../producer.js';
import { openSubject } from '../subject.js';
import { shiftClock } from './clock.js';
import { LedgerBatchPublisher, LedgerPublisher } from './ledger-publisher.js';
import { Points, tell } from './points.js';
import { reportSignals } from './report-signals.js';
import { watchStore } from './watch-store.js';

const config = JSON.parse(process.env.CHAOS_CHILD ?? '{}') as ChildConfig;
// Nobody is left to stop us.
process.on('disconnect', () => process.exit());
shiftClock(config.clockShiftMs ?? 0);

const points = new Points(config);
const ledger = new Ledger(config.ledgerUrl);
const subject = await openSubject(config.store, {
  url: config.databaseUrl,
  claimTimeoutMs: config.claimTimeoutMs,
  ...(config.listenUrl !== undefined && { listenUrl: config.listenUrl }),
  ...(config.poolSize !== undefined && { poolSize: config.poolSize }),
  ...(config.connectTimeoutMs !== undefined && { connectTimeoutMs: config.connectTimeoutMs }),
  ...(config.stopAtStatement && { beforeStatement: points.beforeStatement }),
});
const publisher = new (config.batches ? LedgerBatchPublisher : LedgerPublisher)(
  ledger,
  config.name,
  config.behaviour,
  points.reach,
);
const app = composeModules([
  OutboxModule.forRoot({ ...config.settings, publisher, worker: config.role === 'worker' }),
  subject.module,
]);
const store = app.get(subject.storeToken);
const producer = new Producer(config.name, subject, store, ledger, points.reach);
const held: pg.PoolClient[] = [];

async function run(command: Command): Promise<void> {
  switch (command.do) {
    case 'go on':
      points.goOn();
      break;
    case 'behave':
      publisher.behave(command.behaviour);
      break;
    case 'hold the pool':
      for (let left = subject.pool?.options.max ?? 0; left > 0; left--)
        held.push(await (subject.pool as pg.Pool).connect());
      break;
    case 'free the pool':
      for (const client of held.splice(0)) client.release();
      break;
    case 'shift the clock':
      shiftClock(command.ms);
      break;
    case 'produce':
      await producer.produceMany(command.count, command.keys);
      break;
    case 'stop':
      await stop();
  }
  tell({ tell: 'done', what: command.do });
}

async function stop(): Promise<void> {
  await app.stop();
  await subject.close();
  await ledger.close();
  process.disconnect();
}

process.on('message', (command: Command) => void run(command));
process.on('SIGTERM', () => void stop());
watchStore(store, config, ledger, points.reach);
reportSignals(app);
if (config.ensures || config.role === 'migrator') await app.get(OutboxSchema).ensure();
if (config.role === 'worker') await app.start();
tell({ tell: 'ready' });
if (config.role === 'sweeper') {
  await store.purgeDispatched({ ageMs: 60_000 });
  await stop();
}
if (config.role === 'migrator') await stop();

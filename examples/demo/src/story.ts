import { CLAIM_TIMEOUT_MS, type DispatcherProcess } from './dispatcher-process.js';
import { grouped } from './layout.js';
import { POISON_TOPIC } from './producers.js';
import { areDispatched, claimedIds, noteReplay, publishedUnrecorded } from './questions.js';
import type { Stage } from './stage.js';

const PRODUCERS = 4;
const KILL_PATIENCE_MS = 10_000;
const FREEZE_MS = 100;
const POISON_TRIES = 4;

/** Four acts on one database. Nothing in it counts on a duration: an act ends when the tables say so. */
export async function tellStory(stage: Stage): Promise<void> {
  await stage.during(async () => {
    const produced = stage.producers.run(PRODUCERS).catch((error) => stage.fail(error));
    const [a, b] = await placeOrders(stage);
    await breakBroker(stage);
    await killDispatcher(stage, a);
    await replay(stage, await poison(stage));
    stage.producers.stop();
    await produced;
    await stage.until(async () => (await stage.counters()).pending === 0);
    await b.stop();
    await stage.untilDelivered();
  });
}

async function placeOrders(stage: Stage): Promise<[DispatcherProcess, DispatcherProcess]> {
  stage.screen.say(
    `${PRODUCERS} producers place orders: placed, paid, shipped, a transaction and a message each. One in ten rolls back.`,
  );
  const [a, b] = await Promise.all([stage.startDispatcher('A'), stage.startDispatcher('B')]);
  stage.screen.say(`Dispatcher processes A (pid ${a.pid}) and B (pid ${b.pid}) deliver the messages.`);
  await stage.pause(3_500);
  return [a, b];
}

async function breakBroker(stage: Stage): Promise<void> {
  await stage.broker.setDown(true);
  stage.screen.say(stage.broker.outage, 'warning');
  await stage.pause(3_000);
  await stage.until(() => stage.isOutageFelt());
  const { pending } = await stage.counters();
  await stage.broker.setDown(false);
  stage.screen.say(`The broker is back; ${grouped(pending)} messages wait.`, 'good');
}

async function killDispatcher(stage: Stage, a: DispatcherProcess): Promise<void> {
  await stage.until(() => isFrozenAtWork(stage, a), KILL_PATIENCE_MS);
  await a.kill();
  const unrecorded = await publishedUnrecorded(stage.pool, a.name);
  const claimed = await claimedIds(stage.pool);
  stage.screen.say(`kill -9 ${a.pid}: A dies at work. Published, but not recorded: ${unrecorded}.`, 'bad');
  stage.screen.say(`B goes on; the claims that A held are free after ${CLAIM_TIMEOUT_MS / 1_000} s.`);
  await stage.pause(CLAIM_TIMEOUT_MS);
  await stage.until(() => areDispatched(stage.pool, claimed));
  const { takenOver } = await stage.counters();
  stage.screen.say(`B took over ${takenOver} rows and published them under their old ids.`, 'good');
  await stage.pause(1_000);
}

/**
 * Looks twice: between the first look and the kill the batch may be recorded, and the worst moment missed. Where it
 * can't be had in time, the story goes on, and the proof counts no duplicate.
 */
async function isFrozenAtWork(stage: Stage, a: DispatcherProcess): Promise<boolean> {
  if ((await publishedUnrecorded(stage.pool, a.name)) === 0) return false;
  a.freeze();
  await stage.pause(FREEZE_MS);
  if ((await publishedUnrecorded(stage.pool, a.name)) > 0) return true;
  a.thaw();
  return false;
}

/** Returns the id of a message that ends dead. */
async function poison(stage: Stage): Promise<string> {
  stage.screen.say(`Now a message that the broker refuses. It may be tried ${POISON_TRIES} times.`);
  stage.onFailedTry = ({ topic, attempt, error, delayMs }) => {
    if (topic !== POISON_TOPIC) return;
    stage.screen.say(`try ${attempt}: ${error}; again in ${Math.round(delayMs)} ms`, 'warning');
  };
  const retry = {
    maxAttempts: POISON_TRIES,
    backoff: { type: 'exponential', delayMs: 300, jitter: 'none' },
  } as const;
  const id = await stage.producers.commit({ orderId: 'order-gift', step: 1 }, { topic: POISON_TOPIC, retry });
  await stage.until(async () => (await stage.counters()).dead > 0);
  const [row] = await stage.store.peek({ id }, 1);
  stage.screen.say(
    `dead: ${row?.deadReason} (${row?.lastError}). It is kept; the other orders went on.`,
    'bad',
  );
  await stage.pause(1_500);
  return id;
}

async function replay(stage: Stage, id: string): Promise<void> {
  await stage.broker.accept();
  await noteReplay(stage.pool, id);
  await stage.store.requeue(id);
  stage.screen.say(`The broker is fixed, and the message replayed by hand: store.requeue('${id}')`);
  await stage.until(() => areDispatched(stage.pool, [id]));
  stage.screen.say('It is delivered.', 'good');
  await stage.pause(1_000);
}

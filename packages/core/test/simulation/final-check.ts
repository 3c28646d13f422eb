import { stateOf } from '../../src/message/outbox-row.js';
import type { Host } from './host.js';
import type { RowStory } from './row-ledger.js';
import type { World } from './world.js';

/** Long enough for a stop in good times, when there is nothing to do: a store call or two. */
const GRACE_MS = 50;

/** What must be true when good times have lasted: I1, I2, I7, I8, I11 and I12, for every row and process. */
export async function finalCheck(
  world: World,
  runUntil: (isDone: () => boolean) => Promise<void>,
): Promise<void> {
  for (const story of world.rows.stories) checkRow(world, story);
  await checkCounts(world);
  let running = 0;
  for (const host of world.hosts) {
    running += 1;
    void checkHost(world, host).then(() => {
      running -= 1;
    });
  }
  const untilMs = world.clock.elapsedMs + GRACE_MS;
  await runUntil(() => running === 0 || world.clock.elapsedMs > untilMs);
  if (running > 0 && !world.history.violation)
    world.history.violated('I11', 'a worker does not stop in good times');
}

function checkRow({ table, history, hosts }: World, story: RowStory): void {
  const { id, state } = story;
  const row = table.get(id);
  const isGone = state === 'rolled back' || state === 'discarded';
  if (isGone || !row) {
    if (row) history.violated('I1', `${id} is in the table, and was ${state}`);
    else if (!isGone) history.violated('I1', `${id} committed, and is not in the table`);
    return;
  }
  const found = stateOf({
    ...(row.dispatchedAt !== undefined && { dispatchedAt: new Date(row.dispatchedAt) }),
    ...(row.deadAt !== undefined && { deadAt: new Date(row.deadAt) }),
  });
  if (found !== state) history.violated('I3', `${id} is ${found}, and nobody made it so (it was ${state})`);
  if (found === 'pending') history.violated('I7', `${id} is still pending`);
  if (found === 'dispatched' && !story.isSent)
    history.violated('I2', `${id} is dispatched, and never went out`);
  if (found !== 'dead') return;
  if (row.deadReason === undefined) history.violated('I2', `${id} is dead without a reason`);
  const isJust = {
    exhausted: true, // held against the limit when it was settled
    permanent: true, // held against what the publisher threw
    crashed: true, // held against its claims
    cancelled: story.wasCancelled,
    expired: false,
    undecodable: story.kind === 'misfit',
    'no-listener': false,
  }[row.deadReason ?? 'exhausted'];
  if (!isJust) history.violated('I2', `${id} is dead: ${row.deadReason}, and nothing made it so`);
  const mostAttempts = row.maxAttempts ?? Math.max(...hosts.map(({ settings }) => settings.maxAttempts));
  if (row.attempts > mostAttempts) history.violated('I8', `${id} has ${row.attempts} attempts`);
}

async function checkCounts({ store, rows, history }: World): Promise<void> {
  const expected = { pending: 0, dispatched: 0, dead: 0, total: 0 };
  for (const { state } of rows.stories) {
    if (state !== 'pending' && state !== 'dispatched' && state !== 'dead') continue;
    expected[state] += 1;
    expected.total += 1;
  }
  const counts = await store.count();
  if (JSON.stringify(counts) !== JSON.stringify(expected))
    history.violated('I12', `count() says ${JSON.stringify(counts)}, and it is ${JSON.stringify(expected)}`);
}

async function checkHost({ events, history }: World, host: Host): Promise<void> {
  const { process } = host;
  if (process.isDead) return;
  events.assertAllTold(process);
  const worker = host.runningWorker;
  if (!worker) return;
  const { rowsInFlight, status } = await worker.health();
  if (rowsInFlight > 0)
    history.violated('I12', `${process.name} has ${rowsInFlight} rows in flight, and there are none`);
  if (status !== 'up') history.violated('I12', `${process.name} is '${status}' in good times`);
  await host.stop(GRACE_MS, 'nothing');
}

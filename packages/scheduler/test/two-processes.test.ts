import { describe, expect, test } from 'vitest';
import { ensureSchema, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { type Said, TickingInstance } from './ticking-instance.js';

const fixture = usePostgres(async (postgres) => {
  await ensureSchema(postgres);
  await postgres.query('create table ticks (instance text not null, scheduled_at timestamptz not null)');
});

const CLOCK_BEHIND_MS = 400;
const isStarted = ({ signal }: Said): boolean => signal === 'started';
const isFinished = ({ signal }: Said): boolean => signal === 'finished';
const isLockedOut = ({ signal, reason }: Said): boolean => signal === 'skipped' && reason === 'locked';
const isTick = (said: Said): boolean => isFinished(said) || isLockedOut(said);
const isProblem = ({ signal }: Said): boolean => signal === 'failed' || signal === 'lockLost';

/** A frequent job stays with one instance; on a busy machine it may have moved meanwhile. */
async function latestToFire(...instances: TickingInstance[]): Promise<[TickingInstance, TickingInstance]> {
  const latest = (await ticks()).at(-1)?.instance;
  const [one, two] = instances.sort((a, b) => Number(b.name === latest) - Number(a.name === latest));
  if (!one || !two) throw new Error('two instances are needed');
  return [one, two];
}

async function ticks(): Promise<{ instance: string; tick: string }[]> {
  const rows = await fixture.query(
    'select instance, scheduled_at from ticks order by scheduled_at, instance',
  );
  return rows.map(({ instance, scheduled_at }) => ({
    instance: String(instance),
    tick: (scheduled_at as Date).toISOString(),
  }));
}

describe('two processes on one PostgreSQL', { timeout: 60_000 }, () => {
  // The one that is behind comes to each tick when the other's quick job has long ended.
  test('run each tick once, with different clocks; the other takes over when one is killed or stopped', async () => {
    const one = new TickingInstance('one', fixture.url);
    const two = new TickingInstance('two', fixture.url, CLOCK_BEHIND_MS);
    await Promise.all([one.hasSaid(isStarted), two.hasSaid(isStarted)]);

    await Promise.all([one.hasSaid(isTick, 4), two.hasSaid(isTick, 4)]);
    const [leader, follower] = await latestToFire(one, two);
    await leader.kill();
    await follower.hasSaid(isFinished, follower.said.filter(isFinished).length + 2);

    const three = new TickingInstance('three', fixture.url, -CLOCK_BEHIND_MS);
    await three.hasSaid(isTick, 2);
    expect(await follower.stop()).toBe(0);
    await three.hasSaid(isFinished, three.said.filter(isFinished).length + 2);
    expect(await three.stop()).toBe(0);

    const all = [leader, follower, three];
    const fired = await ticks();
    expect(fired.map(({ tick }) => tick)).toEqual([...new Set(fired.map(({ tick }) => tick))]);
    expect(new Set(fired.map(({ instance }) => instance))).toEqual(new Set(all.map(({ name }) => name)));
    // They did meet: without a lock each of them would have fired at these.
    expect(all.flatMap(({ said }) => said.filter(isLockedOut)).length).toBeGreaterThan(0);
    expect(all.flatMap(({ said }) => said.filter(isProblem))).toEqual([]);
  });
});

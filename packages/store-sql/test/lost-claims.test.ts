import { VirtualClock } from '@postcommit/store-memory';
import { type SqlExecutor, SqlOutboxStore } from '@postcommit/store-sql';
import { expect, it } from 'vitest';
import { LostClaims } from '../src/claim/lost-claims.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres();

class Store extends SqlOutboxStore<never> {
  protected assertTransaction(): void {}
}

it('rows of a claim whose response and release were lost can be claimed as soon as the database answers', async () => {
  let fails: 'never' | 'after the next statement' | 'always' = 'never';
  const executor: SqlExecutor<never> = async (work, tx, bound) => {
    if (fails === 'always') throw new Error('cut off');
    const records = await fixture.executor(work, tx, bound);
    if (fails === 'never') return records;
    fails = 'always';
    throw new Error('cut off');
  };
  const store = new Store(executor, { wakeup: false });
  const ids = await store.enqueue([
    { topic: 't', payload: 1 },
    { topic: 't', payload: 2 },
  ]);
  fails = 'after the next statement';
  await expect(store.fetchPending(10)).rejects.toThrow('cut off');
  await expect(store.fetchPending(10), 'still away').rejects.toThrow('cut off');
  fails = 'never';
  const rows = await store.fetchPending(10);
  expect(rows.map(({ id, retakes }) => [id, retakes])).toEqual(ids.map((id) => [id, 0]));
});

it('a lost claim is not released any more when it has expired by itself', async () => {
  const clock = new VirtualClock();
  const released: string[] = [];
  const lost = new LostClaims(async (token) => void released.push(token), 1_000, clock);
  lost.add('old');
  await clock.advance(500);
  lost.add('new');
  await clock.advance(500);
  await lost.release();
  expect([released, lost.isEmpty]).toEqual([['new'], true]);
});

it('what can’t be released stays for the next time, and nothing is sent after it', async () => {
  const asked: string[] = [];
  const lost = new LostClaims(
    async (token) => {
      asked.push(token);
      throw new Error('cut off');
    },
    1_000,
    new VirtualClock(),
  );
  lost.add('a');
  lost.add('b');
  await lost.release();
  expect([asked, lost.isEmpty]).toEqual([['a'], false]);
});

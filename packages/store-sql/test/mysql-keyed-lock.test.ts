import { VirtualClock } from '@postcommit/store-memory';
import { mysql, SqlOutboxStore } from '@postcommit/store-sql';
import { describeOnMysql } from '@postcommit/tooling/mysql-test-database';
import { expect, it, onTestFinished } from 'vitest';
import { useMysql } from './mysql-fixture.js';

class Store extends SqlOutboxStore<never> {
  protected assertTransaction(): void {}
}

describeOnMysql('while another session holds the lock row of keyed claims', () => {
  const fixture = useMysql();

  it('rows without a key go on, those with a key follow its release, and it is reported once', async () => {
    const clock = new VirtualClock();
    const store = new Store(fixture.executor, { dialect: mysql, clock });
    const problems: unknown[] = [];
    store.onProblem((error) => problems.push(error));
    const ids = async (): Promise<string[]> => (await store.fetchPending(10)).map(({ id }) => id);
    const tryFor = async (ms: number): Promise<string[]> => {
      const found: string[] = [];
      for (let passed = 0; passed < ms; passed += 500) {
        await clock.advance(500);
        found.push(...(await ids()));
      }
      return found;
    };
    // The first keyed claim makes the lock row.
    await store.enqueue({ id: 'first', topic: 't', payload: 1, key: 'k' });
    expect(await ids()).toEqual(['first']);

    const other = await fixture.connect();
    onTestFinished(() => other.end());
    await other.begin();
    await other.sql('select name from outbox_locks for update');
    await store.enqueue([
      { id: 'keyed', topic: 't', payload: 1, key: 'l' },
      { id: 'free', topic: 't', payload: 1 },
    ]);
    expect([...(await ids()), ...(await ids())]).toEqual(['free']);
    expect(await tryFor(10_000)).toEqual([]);
    expect(problems).toEqual([]);
    await tryFor(40_000);
    expect(problems).toMatchObject([{ code: 'KEYED_CLAIMS_BLOCKED' }]);
    await other.rollback();
    expect(await tryFor(5_000)).toEqual(['keyed']);
    expect(problems).toHaveLength(1);
  });
});

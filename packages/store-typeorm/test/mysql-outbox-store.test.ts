import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { OutboxDispatcher, type OutboxEntry, TransientError } from '@postcommit/core';
import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { expectToGoOnBesideLock } from '../../store-sql/test/keyed-lock-scenario.js';
import { useMysql } from '../../store-sql/test/mysql-fixture.js';
import { useDataSource } from './typeorm-stores.js';

const MESSAGES = 2_000;

describeOnMysql('on MariaDB or MySQL', () => {
  const fixture = useMysql();
  const source = useDataSource(fixture, { type: 'mysql' });
  beforeEach(() => fixture.clear());

  const newStore = (): TypeormOutboxStore => new TypeormOutboxStore(source.dataSource);

  describe('texts that other collations treat as equal', () => {
    const ALIKE = ['a', 'A', 'a ', 'á', 'ａ'];

    it("as an id, 'A' is not 'a'", async () => {
      const store = newStore();
      const entries = ['a', 'A'].map((id): OutboxEntry => ({ id, topic: 't', payload: id }));
      await store.enqueue(entries);
      const rows = await store.fetchPending(10);
      expect(rows).toMatchObject([
        { id: 'a', payload: 'a' },
        { id: 'A', payload: 'A' },
      ]);
      expect(await store.markDispatched(['a'])).toEqual(['a']);
      expect(await store.peek({ state: 'pending' }, 10)).toMatchObject([{ id: 'A' }]);
      await expect(store.enqueue(entries)).rejects.toMatchObject({ code: 'DUPLICATE_ID' });
    });

    it("as an id, 'a ' does not match 'a'", async () => {
      const store = newStore();
      await store.enqueue({ id: 'a', topic: 't', payload: 1 });
      expect(await store.peek({ id: 'a ' }, 10)).toEqual([]);
      expect(await store.markDispatched(['a '])).toEqual([]);
      expect(await store.cancel('a ')).toBe(false);
      await expect(store.requeue('a ')).rejects.toMatchObject({ code: 'ROW_NOT_FOUND' });
    });

    it('as keys, each has its own owner and its own order', async () => {
      const store = newStore();
      await store.enqueue(ALIKE.map((key) => ({ topic: 't', payload: key, key })));
      const claimed = [];
      for (let dispatcher = 0; dispatcher < ALIKE.length; dispatcher++) {
        claimed.push(...(await newStore().fetchPending(1)));
      }
      expect(claimed.map(({ key }) => key).sort()).toEqual([...ALIKE].sort());
      await store.enqueue({ topic: 't', payload: 'follower', key: 'a ' });
      expect(await newStore().fetchPending(10), 'its own head is in flight').toEqual([]);
    });

    it('as topics and keys of a filter, each matches only itself', async () => {
      const store = newStore();
      await store.enqueue(ALIKE.map((text) => ({ topic: `${text}.`, payload: text, key: text })));
      for (const text of ALIKE) {
        expect(await store.peek({ topic: `${text}.` }, 10)).toMatchObject([{ payload: text }]);
        expect(await store.peek({ key: text }, 10)).toMatchObject([{ payload: text }]);
      }
    });
  });

  describe('settings of the data source', () => {
    it.each([
      ['another zone', { timezone: '+05:30' }],
      ['dates as texts', { dateStrings: true }],
      ['large numbers as texts', { supportBigNumbers: true, bigNumberStrings: true }],
      ['numbers with a point as numbers', { extra: { decimalNumbers: true } }],
    ])('%s change nothing', async (_name, options) => {
      const dataSource = new DataSource({ type: 'mysql', url: fixture.url, ...options });
      await dataSource.initialize();
      try {
        const store = new TypeormOutboxStore(dataSource);
        const availableAt = new Date('2020-01-02T03:04:05.678Z');
        await store.enqueue([
          { id: 'm1', topic: 't', payload: { n: 1 }, availableAt },
          { id: 'm2', topic: 't', payload: 'ü€𝄞', key: 'k', headers: { h: '1' } },
        ]);
        const rows = [...(await store.fetchPending(1)), ...(await store.fetchPending(1))];
        expect(rows).toMatchObject([
          { id: 'm1', payload: { n: 1 }, availableAt, attempts: 0, retakes: 0 },
          { id: 'm2', payload: 'ü€𝄞', key: 'k', headers: { h: '1' } },
        ]);
        const [{ now } = { now: undefined }] = await fixture.query(`select ${fixture.now} as now`);
        expect(Math.abs(Number(rows[1]?.createdAt) - Number(now))).toBeLessThan(60_000);
        expect(await store.count()).toEqual({ pending: 2, dispatched: 0, dead: 0, total: 2 });
        expect(await store.backlog()).toMatchObject({ pending: 2, due: 2 });
      } finally {
        await dataSource.destroy();
      }
    });
  });

  it('a missing table is reported with the command that creates it, by every method', async () => {
    const store = new TypeormOutboxStore(source.dataSource, { table: 'nowhere' });
    const refusal = { code: 'SCHEMA_OUTDATED', message: expect.stringMatching(/`nowhere`.*outbox:migrate/) };
    await expect(store.enqueue({ topic: 't', payload: 1 })).rejects.toMatchObject(refusal);
    await expect(store.fetchPending(1)).rejects.toMatchObject(refusal);
    await expect(store.markDispatched(['x'])).rejects.toMatchObject(refusal);
    await expect(store.count()).rejects.toMatchObject(refusal);
  });

  it('four concurrent dispatchers and producers: no deadlock, nothing lost, every key in order', async () => {
    const published: string[] = [];
    const perKey = new Map<string, number>();
    let failures = 0;
    const publish = async (row: { key?: string; payload: unknown; id: string; attempts: number }) => {
      if (row.attempts === 0 && Number(row.payload) % 7 === 0) {
        failures++;
        throw new TransientError('not now');
      }
      if (row.key !== undefined) {
        expect(Number(row.payload)).toBeGreaterThan(perKey.get(row.key) ?? -1);
        perKey.set(row.key, Number(row.payload));
      }
      published.push(row.id);
    };
    const errors: unknown[] = [];
    const noted = async (work: Promise<unknown>): Promise<void> => {
      await work.catch((error) => errors.push(error));
    };
    let producing = 4;
    const produce = async (producer: number): Promise<void> => {
      for (let serial = 0; serial < MESSAGES / 4; serial += 5) {
        await noted(
          source.dataSource.transaction(async (manager) => {
            const entries = Array.from({ length: 5 }, (_, index) => ({
              topic: 't',
              payload: serial + index,
              // Half without a key; the keys of a producer are its own, so that their order is known.
              ...((serial + index) % 2 === 0 && { key: `${producer}-${(serial + index) % 10}` }),
            }));
            await newStore().enqueueWith(manager, entries);
          }),
        );
      }
      producing--;
    };
    const dispatch = async (): Promise<void> => {
      const dispatcher = new OutboxDispatcher(newStore(), publish);
      for (let idle = 0; producing > 0 || idle < 5; ) {
        let fetched = 0;
        await noted(dispatcher.dispatchPending(20).then((summary) => (fetched = summary.fetched)));
        idle = fetched === 0 ? idle + 1 : 0;
      }
    };
    await Promise.all([...[0, 1, 2, 3].map(produce), ...[0, 1, 2, 3].map(() => dispatch())]);
    expect(errors).toEqual([]);
    expect(failures).toBeGreaterThan(0);
    expect(new Set(published).size).toBe(MESSAGES);
    expect(published).toHaveLength(MESSAGES);
    expect(await newStore().count()).toMatchObject({ pending: 0, dispatched: MESSAGES, dead: 0 });
  }, 120_000);

  it('rows without a key go on while another session holds the lock row of keyed claims', async () => {
    const other = await fixture.connect();
    onTestFinished(() => other.end());
    await other.begin();
    await expectToGoOnBesideLock((clock) => new TypeormOutboxStore(source.dataSource, { clock }), {
      hold: () => other.sql('select name from outbox_locks for update'),
      release: () => other.rollback(),
    });
  });
});

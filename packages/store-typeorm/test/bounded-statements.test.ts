import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import type { SqlExecutor, SqlWork } from '@postcommit/store-sql';
import { mysql } from '@postcommit/store-sql';
import { type TypeormTransaction, typeormDatabase } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { useMysql } from '../../store-sql/test/mysql-fixture.js';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { tcpProxy } from '../../store-sql/test/tcp-proxy.js';

interface Opened {
  readonly dataSource: DataSource;
  readonly executor: SqlExecutor<TypeormTransaction>;
}

async function open(type: 'postgres' | 'mysql', url: string): Promise<Opened> {
  const dataSource = new DataSource({ type, url, poolSize: 5 });
  await dataSource.initialize();
  onTestFinished(() => void dataSource.destroy().catch(() => {}));
  return { dataSource, executor: typeormDatabase(dataSource).executor };
}

function run({ executor }: Opened, work: SqlWork, signal = new AbortController().signal) {
  return executor(work, undefined, { serverMs: 100, signal });
}

/** All connections of the pool turn silent, and the work on one of them is given up. */
async function giveUpOneOfMany(opened: Opened, proxy: { freeze(): void; thaw(): void }): Promise<void> {
  const { dataSource } = opened;
  await Promise.all(Array.from({ length: 5 }, () => dataSource.query('select 1')));
  proxy.freeze();
  proxy.thaw();
  const giveUp = new AbortController();
  const failed = expect(run(opened, { text: 'select 1', values: [] }, giveUp.signal)).rejects.toThrow(
    'nobody waits',
  );
  await new Promise((resolve) => setImmediate(resolve));
  giveUp.abort(new Error('nobody waits'));
  await failed;
}

async function expectAllReplaced({ dataSource }: Opened): Promise<void> {
  const all = Promise.all(Array.from({ length: 5 }, () => dataSource.query('select 1 as n')));
  expect(await all).toHaveLength(5);
}

describe('on PostgreSQL', () => {
  const fixture = usePostgres();

  it('the server ends a single statement, and TypeORM logs it', async () => {
    const opened = await open('postgres', fixture.url);
    const logged = vi.spyOn(opened.dataSource.logger, 'logQuery');
    await expect(run(opened, { text: 'select pg_sleep(20)', values: [] })).rejects.toMatchObject({
      code: '57014',
    });
    expect(logged).toHaveBeenCalledWith('select pg_sleep(20)', []);
  });

  it('silent connections are replaced, the idle ones too', async () => {
    const proxy = await tcpProxy(fixture.url);
    const opened = await open('postgres', proxy.url);
    await giveUpOneOfMany(opened, proxy);
    await expectAllReplaced(opened);
  });
});

describeOnMysql('on MariaDB or MySQL', () => {
  const fixture = useMysql();

  it('the server ends a SELECT', async () => {
    const opened = await open('mysql', fixture.url);
    const sleeping = mysql.limit({ text: 'select sleep(20) from (select 1) x', values: [] }, 100);
    const beganMs = performance.now();
    // MySQL interrupts the sleep and returns; MariaDB throws.
    await run(opened, sleeping).catch((error: unknown) => {
      expect(mysql.faultOf(error)).toBe('too slow');
    });
    expect(performance.now() - beganMs).toBeLessThan(10_000);
  });

  it('silent connections are replaced, the idle ones too', async () => {
    const proxy = await tcpProxy(fixture.url);
    const opened = await open('mysql', proxy.url);
    await giveUpOneOfMany(opened, proxy);
    await expectAllReplaced(opened);
  });
});

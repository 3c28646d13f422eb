import { createOutbox, type Outbox } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import { typeormStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';

const fixture = usePostgres();
const entry = { topic: 'order.paid', payload: { id: '1' } };
let dataSource: DataSource;

beforeAll(async () => {
  dataSource = await new DataSource({ type: 'postgres', url: fixture.url }).initialize();
});

afterAll(() => dataSource.destroy());

async function expectRejected<Tx>(
  outbox: Outbox<Tx, Record<never, never>>,
  tx: Tx,
  message: string,
): Promise<void> {
  await expect(outbox.enqueueWith(tx, entry)).rejects.toMatchObject({
    code: 'INVALID_TRANSACTION',
    message: expect.stringContaining(message),
  });
  expect((await outbox.store.count()).total).toBe(0);
}

describe('what compiles but is not a transaction is rejected at run time', () => {
  it('a pg client outside a transaction', async () => {
    const outbox = createOutbox({
      store: pgStore(fixture.pool),
      worker: false,
    });
    const client = await fixture.pool.connect();
    try {
      await expectRejected(outbox, client, 'not in a transaction');
    } finally {
      client.release();
    }
  });

  it('the manager of a data source, and one outside a transaction', async () => {
    const outbox = createOutbox({ store: typeormStore(dataSource), worker: false });
    await expectRejected(outbox, dataSource.manager, 'dataSource.manager');
    const queryRunner = dataSource.createQueryRunner();
    await expectRejected(outbox, queryRunner.manager, 'not in a transaction');
    await queryRunner.release();
  });
});

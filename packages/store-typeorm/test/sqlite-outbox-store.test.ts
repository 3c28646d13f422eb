import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import type { DataSource } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import { Order, OrderEntity } from './order.js';
import { useSqlite } from './sqlite-fixture.js';

const open = useSqlite();
const paid = { id: 'message-1', topic: 'order.paid', payload: { id: '1' } };
let dataSource: DataSource;
let store: TypeormOutboxStore;

beforeEach(async () => {
  dataSource = await open({ entities: [OrderEntity], synchronize: true });
  await dataSource.getRepository(Order).insert({ id: '1', status: 'new' });
  store = new TypeormOutboxStore(dataSource);
});

describe('enqueueWith', () => {
  it('stores the message if the business transaction commits', async () => {
    const ids = await dataSource.transaction(async (em) => {
      await em.update(Order, { id: '1' }, { status: 'paid' });
      return store.enqueueWith(em, paid);
    });
    expect(ids).toEqual(['message-1']);
    expect(await dataSource.getRepository(Order).findOneBy({ id: '1' })).toMatchObject({ status: 'paid' });
    expect(await store.peek({}, 10)).toMatchObject([paid]);
  });

  it('stores nothing if the business transaction rolls back', async () => {
    const failing = dataSource.transaction(async (em) => {
      await em.update(Order, { id: '1' }, { status: 'paid' });
      await store.enqueueWith(em, paid);
      throw new Error('no funds');
    });
    await expect(failing).rejects.toThrow('no funds');
    expect(await dataSource.getRepository(Order).findOneBy({ id: '1' })).toMatchObject({ status: 'new' });
    expect((await store.count()).total).toBe(0);
  });

  it('rejects a manager outside a transaction', async () => {
    for (const handle of [dataSource.manager, dataSource.createQueryRunner().manager]) {
      await expect(store.enqueueWith(handle, paid)).rejects.toMatchObject({ code: 'INVALID_TRANSACTION' });
    }
    expect((await store.count()).total).toBe(0);
  });
});

describe('errors', () => {
  it('a duplicate id is named', async () => {
    await store.enqueue(paid);
    const expected = { code: 'DUPLICATE_ID', message: expect.stringContaining("'message-1'") };
    await expect(store.enqueue([{ ...paid, id: 'message-0' }, paid])).rejects.toMatchObject(expected);
    expect((await store.count()).total, 'nothing of the list was stored').toBe(1);
    await expect(dataSource.transaction((em) => store.enqueueWith(em, paid))).rejects.toMatchObject(expected);
  });

  it('a missing table names the command that creates it', async () => {
    const nowhere = new TypeormOutboxStore(dataSource, { table: 'nowhere' });
    const expected = { code: 'SCHEMA_OUTDATED', message: expect.stringMatching(/"nowhere".*outbox:migrate/) };
    await expect(nowhere.enqueue(paid)).rejects.toMatchObject(expected);
    await expect(nowhere.fetchPending(10)).rejects.toMatchObject(expected);
    await expect(dataSource.transaction((em) => nowhere.enqueueWith(em, paid))).rejects.toMatchObject(
      expected,
    );
  });

  it('so does a missing column', async () => {
    await dataSource.query('alter table outbox drop column backoff');
    await expect(store.enqueue(paid)).rejects.toMatchObject({
      code: 'SCHEMA_OUTDATED',
      message: expect.stringMatching(/lacks a column/),
    });
  });

  it('an error of the database is the driver’s own, and rolls back the work', async () => {
    await store.enqueue([paid, { ...paid, id: 'message-2' }]);
    await dataSource.query(`
      create trigger fail before update on outbox when new.id = 'message-2'
      begin select raise(abort, 'forced'); end`);
    await expect(store.fetchPending(10)).rejects.toThrow('forced');
    await dataSource.query('drop trigger fail');
    expect((await store.fetchPending(10)).map(({ id, retakes }) => [id, retakes])).toEqual([
      ['message-1', 0],
      ['message-2', 0],
    ]);
  });

  it('a data source that is not initialized is reported', async () => {
    await dataSource.destroy();
    await expect(store.fetchPending(10)).rejects.toThrow(/connection is not yet established/);
  });
});

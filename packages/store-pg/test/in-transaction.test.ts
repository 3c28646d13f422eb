import { createOutbox } from '@postcommit/core';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';

const fixture = usePostgres();
let pool: pg.Pool;

beforeAll(async () => {
  await fixture.query('create table orders (id int primary key, status text not null)');
});

beforeEach(async () => {
  await fixture.query('truncate orders, outbox');
  // One connection: a client that is not released blocks the next call.
  pool = new pg.Pool({ connectionString: fixture.url, max: 1, connectionTimeoutMillis: 5_000 });
});

afterEach(() => pool.end());

function insertOrder(tx: pg.PoolClient, id = 1): Promise<unknown> {
  return tx.query("insert into orders values ($1, 'paid')", [id]);
}

function orderIds(): Promise<unknown[]> {
  return fixture.query('select id from orders order by id');
}

async function backendPid(client: pg.Pool | pg.PoolClient): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  return rows[0].pid;
}

/** Cuts the connection as a server restart does, and waits until the client has noticed. */
async function cut(tx: pg.PoolClient): Promise<void> {
  const pid = await backendPid(tx);
  const noticed = new Promise((resolve) => tx.once('end', resolve));
  tx.on('error', () => {});
  await fixture.query('select pg_terminate_backend($1)', [pid]);
  await noticed;
}

describe('when the work resolves', () => {
  it('commits, and not before', async () => {
    await inTransaction(pool, async (tx) => {
      await insertOrder(tx);
      expect(await orderIds()).toEqual([]);
    });
    expect(await orderIds()).toEqual([{ id: 1 }]);
  });

  it('returns the result of the work', async () => {
    expect(await inTransaction(pool, async () => ({ id: 7 }))).toEqual({ id: 7 });
  });

  it('releases the client for the next call, outside a transaction', async () => {
    const first = await inTransaction(pool, backendPid);
    const { rows } = await pool.query(
      'select pg_backend_pid() as pid, now() = statement_timestamp() as idle',
    );
    expect(rows).toEqual([{ pid: first, idle: true }]);
    expect(pool.idleCount).toBe(1);
  });

  it('commits a message together with the business row', async () => {
    const outbox = createOutbox({ store: pgStore(pool), worker: false, logger: false });
    const enqueue = (id: number, failure?: Error): Promise<void> =>
      inTransaction(pool, async (tx) => {
        await insertOrder(tx, id);
        await outbox.enqueueWith(tx, { topic: 'order.paid', payload: { id } });
        if (failure) throw failure;
      });
    await enqueue(1);
    await expect(enqueue(2, new Error('no stock'))).rejects.toThrow('no stock');
    expect(await orderIds()).toEqual([{ id: 1 }]);
    expect(await fixture.query('select payload from outbox')).toEqual([{ payload: { id: 1 } }]);
  });
});

describe('when the work throws', () => {
  const failure = new Error('no stock');

  it('rolls back and throws the same error', async () => {
    const attempt = inTransaction(pool, async (tx) => {
      await insertOrder(tx);
      throw failure;
    });
    await expect(attempt).rejects.toBe(failure);
    expect(await orderIds()).toEqual([]);
  });

  it('rolls back a transaction that a failed statement aborted, and reuses the client', async () => {
    let pid: number | undefined;
    const attempt = inTransaction(pool, async (tx) => {
      pid = await backendPid(tx);
      await insertOrder(tx);
      await insertOrder(tx);
    });
    await expect(attempt).rejects.toMatchObject({ code: '23505' });
    expect(await orderIds()).toEqual([]);
    expect(await backendPid(pool)).toBe(pid);
  });

  it('throws that error even if ROLLBACK fails, and does not reuse the broken client', async () => {
    let broken: number | undefined;
    const attempt = inTransaction(pool, async (tx) => {
      broken = await backendPid(tx);
      await insertOrder(tx);
      await cut(tx);
      throw failure;
    });
    await expect(attempt).rejects.toBe(failure);
    expect(await orderIds()).toEqual([]);
    expect(pool.totalCount).toBe(0);
    expect(await backendPid(pool)).not.toBe(broken);
  });

  it('does not reuse a client that is still connected but could not roll back', async () => {
    const slow = new pg.Pool({ connectionString: fixture.url, max: 1, query_timeout: 100 });
    const attempt = inTransaction(slow, async (tx) => {
      await insertOrder(tx);
      // The server is still busy with this when ROLLBACK is sent, so that one times out too.
      await tx.query('select pg_sleep(1)').catch(() => {});
      throw failure;
    });
    await expect(attempt).rejects.toBe(failure);
    expect(slow.totalCount).toBe(0);
    await slow.end();
  });
});

describe('when the transaction cannot commit', () => {
  it('throws the error of COMMIT, stores nothing and reuses the client', async () => {
    await fixture.query(
      'create table payments (order_id int references orders (id) deferrable initially deferred)',
    );
    const attempt = inTransaction(pool, (tx) => tx.query('insert into payments values (99)'));
    await expect(attempt).rejects.toMatchObject({ code: '23503' });
    expect(await fixture.query('select * from payments')).toEqual([]);
    expect(pool.idleCount).toBe(1);
    await fixture.query('drop table payments');
  });

  it('throws when the connection was cut before COMMIT, and does not reuse it', async () => {
    const attempt = inTransaction(pool, async (tx) => {
      await insertOrder(tx);
      await cut(tx);
    });
    await expect(attempt).rejects.toThrow();
    expect(await orderIds()).toEqual([]);
    expect(pool.totalCount).toBe(0);
  });

  it('throws when no connection is available, before the work runs', async () => {
    const unreachable = new pg.Pool({ connectionString: 'postgres://postgres@127.0.0.1:1/postgres' });
    let ran = false;
    const attempt = inTransaction(unreachable, async () => {
      ran = true;
    });
    await expect(attempt).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(ran).toBe(false);
    await unreachable.end();
  });
});

import { composeModules, DispatchEvents, OutboxModule, OutboxSchema } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore, pgExecutor } from '@postcommit/store-pg';
import pg from 'pg';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';

const fixture = usePostgres();
const pools: pg.Pool[] = [];
const CUT = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cut me'";

function openPool(): pg.Pool {
  const pool = new pg.Pool({ connectionString: fixture.url, application_name: 'cut me' });
  pools.push(pool);
  return pool;
}

/** Leaves a connection idle in the pool, then cuts it, as a restart of the server does. */
async function cutIdleConnection(pool: pg.Pool): Promise<void> {
  await pool.query('select 1');
  const removed = new Promise((resolve) => pool.once('remove', resolve));
  await fixture.query(CUT);
  await removed;
}

/** Its arguments. It is not printed. */
function nextWarning(): Promise<unknown[]> {
  return new Promise((resolve) => {
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation((...args) => resolve(args));
    onTestFinished(() => emit.mockRestore());
  });
}

afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.end();
});

const cut = { code: '57P01' };

describe('a cut idle connection does not end the process', () => {
  it('and is reported by the store', async () => {
    const pool = openPool();
    const store = new PgOutboxStore(pool);
    const problem = new Promise((resolve) => store.onProblem(resolve));
    await cutIdleConnection(pool);
    expect(await problem).toMatchObject(cut);
    expect(await store.enqueue({ topic: 'order.paid', payload: {} })).toHaveLength(1);
  });

  it('and is the event storeProblem of an application', async () => {
    const pool = openPool();
    const app = composeModules([OutboxModule.forRoot({ worker: false }), OutboxPgModule.forRoot({ pool })]);
    const told = new Promise((resolve) => app.get(DispatchEvents).on('storeProblem', resolve));
    await app.start();
    await cutIdleConnection(pool);
    expect(await told).toMatchObject({ error: cut });
    await app.stop();
  });

  it('nor before the application has created its store, when it is a warning', async () => {
    const pool = openPool();
    const app = composeModules([OutboxModule.forRoot({ worker: false }), OutboxPgModule.forRoot({ pool })]);
    await app.get(OutboxSchema).ensure();
    const warned = nextWarning();
    await cutIdleConnection(pool);
    expect(await warned).toEqual([expect.stringContaining('terminating'), 'OutboxWarning']);
  });

  it('in which secrets are masked', async () => {
    const pool = openPool();
    await composeModules([OutboxModule, OutboxPgModule.forRoot({ pool })])
      .get(OutboxSchema)
      .ensure();
    const warned = nextWarning();
    pool.emit('error', new Error('password=hunter2 was refused'), undefined as never);
    expect(await warned).toEqual(['password=*** was refused', 'OutboxWarning']);
  });

  it('and is reported by every store that shares the pool', async () => {
    const pool = openPool();
    const stores = [new PgOutboxStore(pool), new PgOutboxStore(pool, { table: 'other_outbox' })];
    const problems = stores.map((store) => new Promise((resolve) => store.onProblem(resolve)));
    await cutIdleConnection(pool);
    expect(await Promise.all(problems)).toMatchObject([cut, cut]);
  });
});

describe('a connection that is cut while your code holds its client does not end the process', () => {
  it.each(['before', 'after'])('a client connected %s the store was made', async (when) => {
    const pool = openPool();
    if (when === 'before') await pool.query('select 1');
    const store = new PgOutboxStore(pool);
    const client = await pool.connect();
    await client.query('begin');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await fixture.query(CUT);
    await ended;
    await expect(store.enqueueWith(client, { topic: 'order.paid', payload: {} })).rejects.toThrow();
    client.release();
    expect(await store.enqueue({ topic: 'order.paid', payload: {} })).toHaveLength(1);
  });

  it('and a client has one listener, however often it is checked out', async () => {
    const pool = openPool();
    new PgOutboxStore(pool);
    const counts: number[] = [];
    for (let index = 0; index < 3; index++) {
      const client = await pool.connect();
      counts.push(client.listenerCount('error'));
      client.release();
    }
    expect(new Set(counts).size).toBe(1);
  });
});

describe('the listener', () => {
  it('is one for each pool, however many stores, modules and executors share it', () => {
    const pool = openPool();
    for (let index = 0; index < 20; index++) {
      new PgOutboxStore(pool);
      OutboxPgModule.forRoot({ pool });
      pgExecutor(pool);
    }
    expect(pool.listenerCount('error')).toBe(1);
  });

  it('does not replace that of the application', async () => {
    const pool = openPool();
    const heard = new Promise((resolve) => pool.on('error', resolve));
    const store = new PgOutboxStore(pool);
    const problem = new Promise((resolve) => store.onProblem(resolve));
    await cutIdleConnection(pool);
    expect(await Promise.all([heard, problem])).toMatchObject([cut, cut]);
  });

  it('is not needed: a pool without events works', async () => {
    const { query, connect } = fixture.pool;
    const store = new PgOutboxStore({ query: query.bind(fixture.pool), connect: connect.bind(fixture.pool) });
    expect((await store.count()).total).toBeGreaterThanOrEqual(0);
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '@internal/test-database/test-database';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { linesIn, linesOf, masked } from '../../examples/demo/src/picture.js';
import { allHold, type Finding, prove } from '../../examples/demo/src/proof.js';
import { connect, createTables } from '../../examples/demo/src/tables.js';

describe('the closing table of the demo', () => {
  let database: TestDatabase;
  let pool: ReturnType<typeof connect>;

  beforeEach(async () => {
    database = await createTestDatabase();
    pool = connect(database.url);
    await createTables(pool);
    await commit('m1', 'order-1', 1);
    await commit('m2', 'order-1', 2);
    await commit('m3', 'order-2', 1);
    await pool.query("insert into replays values ('m3', 'exhausted', 4, 0)");
  });

  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  async function commit(id: string, order: string, step: number): Promise<void> {
    await pool.query('insert into order_changes values ($1, $2, $3)', [order, step, id]);
    await pool.query(
      "insert into outbox (id, topic, payload, key, dispatched_at) values ($1, 'order.placed', '{}', $2, now())",
      [id, order],
    );
  }

  async function deliver(id: string, order: string, step: number): Promise<void> {
    await pool.query(
      "insert into deliveries (message_id, order_id, step, dispatcher, is_taken_over) values ($1, $2, $3, 'A', false)",
      [id, order, step],
    );
  }

  async function broken(rolledBack: readonly string[] = []): Promise<string[]> {
    const findings: Finding[] = await prove(pool, rolledBack);
    const names = findings.filter(({ holds }) => holds === false).map(({ name }) => name);
    expect(allHold(findings)).toBe(names.length === 0);
    return names;
  }

  async function deliverAll(): Promise<void> {
    await deliver('m1', 'order-1', 1);
    await deliver('m2', 'order-1', 2);
    await deliver('m3', 'order-2', 1);
  }

  it('is correct if all committed messages arrived in order, some of them twice', async () => {
    await deliverAll();
    await deliver('m1', 'order-1', 1);
    expect(await broken(['m4'])).toEqual([]);
    expect((await prove(pool, [])).find(({ name }) => name === 'delivered again')?.count).toBe(1);
  });

  it('detects a message that was committed and never delivered', async () => {
    await deliver('m1', 'order-1', 1);
    await deliver('m3', 'order-2', 1);
    expect(await broken()).toEqual(['messages delivered', 'lost']);
  });

  it('detects a message that was delivered and never committed', async () => {
    await deliverAll();
    await deliver('m4', 'order-3', 1);
    expect(await broken()).toEqual(['messages delivered', 'phantoms']);
  });

  it('detects a step that was overtaken', async () => {
    await deliver('m2', 'order-1', 2);
    await deliver('m1', 'order-1', 1);
    await deliver('m3', 'order-2', 1);
    expect(await broken()).toEqual(['out of order']);
  });

  it('detects the row of a transaction that was rolled back', async () => {
    await deliverAll();
    expect(await broken(['m1'])).toEqual(['rolled back, yet stored']);
  });

  it('detects a pending row, and a dead one', async () => {
    await deliverAll();
    await pool.query("update outbox set dispatched_at = null where id = 'm1'");
    expect(await broken()).toEqual(['still pending or dead']);
    await pool.query("update outbox set dead_at = now(), dead_reason = 'exhausted' where id = 'm1'");
    expect(await broken()).toEqual(['still pending or dead']);
  });

  it('detects a replay that was not delivered again, and one that never happened', async () => {
    await deliverAll();
    await pool.query('update replays set after_arrival = 3');
    expect(await broken()).toEqual(['dead, then replayed']);
    await pool.query('delete from replays');
    expect(await broken()).toEqual(['dead, then replayed']);
  });
});

describe('the demo', () => {
  const folder = fileURLToPath(new URL('../../examples/demo', import.meta.url));

  function start(environment: Record<string, string>) {
    const child = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: inject('postgresUrl'), DEMO_PACE: '0.1', ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return { child, exited: once(child, 'exit') };
  }

  it('tells the story that its picture shows', { timeout: 120_000 }, async () => {
    const { child, exited } = start({ FORCE_COLOR: '1' });
    const output = await text(child.stdout);
    expect(await exited, output).toEqual([0, null]);
    const picture = readFileSync(new URL('../../docs/demo.svg', import.meta.url), 'utf8');
    expect(masked(linesOf(output))).toBe(masked(linesIn(picture)));
    expect(masked(linesIn(picture))).toContain(
      'Every committed change was announced, in order, and nothing else.',
    );
  });

  it('exits with code 1 if a delivery is missing', { timeout: 120_000 }, async () => {
    const { child, exited } = start({ DEMO_FAULT: 'lose-one' });
    const output = await text(child.stdout);
    expect(await exited).toEqual([1, null]);
    expect(output).toMatch(/✗ lost +1 /);
    expect(output).toContain('A promise was broken.');
    const failedTries = [...output.matchAll(/failed tries (\d+)/g)].map(([, tries]) => Number(tries));
    // The replay sets a row's attempts back; what has happened stays counted.
    expect(failedTries).toEqual([...failedTries].sort((a, b) => a - b));
    expect(failedTries.at(-1)).toBeGreaterThan(0);
  });

  it.each([
    { how: 'it is interrupted', end: (child: ChildProcess) => child.kill('SIGINT'), signal: 'SIGINT' },
    { how: 'nobody reads on', end: (child: ChildProcess) => child.stdout?.destroy(), signal: 'SIGHUP' },
  ])('leaves no process and no database behind when $how', { timeout: 120_000 }, async ({ end, signal }) => {
    const name = `demo-${randomBytes(6).toString('hex')}`;
    // Every connection of the run carries this name: it leads to its database.
    const { child, exited } = start({ DEMO_PACE: '1', PGAPPNAME: name });
    const pids = await dispatchersOf(child.stdout);
    const databases = await databasesOf(name);
    expect(databases).toHaveLength(1);
    end(child);
    expect(await exited).toEqual([null, signal]);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(await existing(databases)).toEqual([]);
  });
});

/** Reads on afterwards: a demo whose output nobody takes would end. */
function dispatchersOf(output: Readable): Promise<number[]> {
  return new Promise((resolve, reject) => {
    let seen = '';
    output.on('data', (chunk: Buffer) => {
      seen += chunk;
      const [, a, b] = /A \(pid (\d+)\) and B \(pid (\d+)\)/.exec(seen) ?? [];
      if (a && b) resolve([Number(a), Number(b)]);
    });
    output.once('end', () => reject(new Error(`the demo ended before its dispatchers worked:\n${seen}`)));
  });
}

function databasesOf(applicationName: string): Promise<string[]> {
  return names('select distinct datname from pg_stat_activity where application_name = $1', [
    applicationName,
  ]);
}

function existing(databases: readonly string[]): Promise<string[]> {
  return names('select datname from pg_database where datname = any($1)', [databases]);
}

async function names(query: string, values: unknown[]): Promise<string[]> {
  const pool = connect(inject('postgresUrl'));
  try {
    const { rows } = await pool.query<{ datname: string }>(query, values);
    return rows.map(({ datname }) => datname);
  } finally {
    await pool.end();
  }
}

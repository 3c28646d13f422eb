import { PgOutboxStore } from '@postcommit/store-pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { type OnTerminal, useProject } from './project-fixture.js';

/** The binary on a pseudo-terminal: what a person sees. */
const postgres = usePostgres();
const project = useProject();

const outbox = (columns: number, ...args: string[]): Promise<OnTerminal> =>
  project.runOnTerminal(args, { columns, env: { DATABASE_URL: postgres.url } });

beforeEach(async () => {
  await postgres.query('truncate outbox');
  await postgres.query(
    `insert into outbox (id, topic, key, payload, created_at, dead_at, attempts, last_error) values
     ('abc123', 'order.refunded', 'k1', '{"card":"4111"}', '2026-01-31T12:00:00Z', '2026-01-31T13:00:00Z', 10, $1)`,
    ['Stripe \u001b[31mwebhook\u001b[0m 502, and more of it than fits'],
  );
});

describe('on a terminal', () => {
  it('rows are a table, cut to its width, without control characters', async () => {
    const { code, output } = await outbox(100, 'outbox:list');
    expect(code).toBe(0);
    expect(output.split('\r\n')).toEqual([
      'ID      STATE  TOPIC           KEY  ATTEMPTS  CREATED                   LAST ERROR',
      'abc123  dead   order.refunded  k1   10        2026-01-31T12:00:00.000Z  Stripe \\u001b[31mwebhook\\u0…',
      '',
    ]);
  });

  it('payloads are shown in full on request', async () => {
    const { output } = await outbox(100, 'outbox:list', '--payload');
    expect(output.split('\r\n')[2]).toBe('  {"card":"4111"}');
  });

  it('--plain and --json print the same as to a pipe', async () => {
    const { output } = await outbox(100, 'outbox:list', '--plain');
    expect(output).toBe(
      'abc123 state=dead topic=order.refunded attempts=10 createdAt=2026-01-31T12:00:00.000Z ' +
        'lastError="Stripe \\u001b[31mwebhook\\u001b[0m 502, and more of it than fits"\r\n',
    );
    expect((await outbox(100, 'stats', '--plain')).output).toBe(
      'outbox:stats pending=0 dispatched=0 dead=1 total=1\r\n',
    );
    expect(JSON.parse((await outbox(100, 'stats', '--json')).output)).toMatchObject({ dead: 1 });
  });

  it('counts are a table', async () => {
    const { output } = await outbox(100, 'outbox:stats');
    expect(output).toBe(
      'PENDING  DISPATCHED  DEAD  TOTAL\r\n0        0           1     1\r\n\r\nDEAD  TOPIC\r\n1     order.refunded\r\n',
    );
  });

  it('dead rows are counted by topic and reason, the most frequent first', async () => {
    const store = new PgOutboxStore(postgres.pool);
    await store.enqueue(['a', 'b', 'c'].map((id) => ({ id, topic: 'order.paid', payload: 1 })));
    await store.markDead('a', '400', { reason: 'permanent' });
    await store.markDead('b', '400', { reason: 'permanent' });
    await store.cancel('c');
    const { output } = await outbox(100, 'outbox:stats');
    expect(output.split('\r\n').slice(2)).toEqual([
      '',
      'DEAD  REASON     TOPIC',
      '2     permanent  order.paid',
      '1     cancelled  order.paid',
      '1                order.refunded',
      '',
    ]);
  });

  it('the doctor prints statements that can be copied', async () => {
    await postgres.query('drop index outbox_dead');
    const { code, output } = await outbox(100, 'outbox:doctor');
    expect(code).toBe(1);
    const lines = output.split('\r\n');
    expect(lines[0]).toMatch(/^0 pending, /);
    expect(lines[1]).toBe('1 problem:');
    expect(lines[3]).toMatch(/^required: index outbox_dead .* is missing$/);
    const fix = lines[4] ?? '';
    await postgres.query(fix);
    expect((await outbox(100, 'outbox:doctor')).output).toContain('no problems found');
  });

  it('a loop has a progress bar, which is removed at the end', async () => {
    await new PgOutboxStore(postgres.pool).enqueue(
      Array.from({ length: 20 }, () => ({ topic: 'order.paid', payload: 1 })),
    );
    const config = `
      import { defineConfig } from '@postcommit/cli';
      import { OutboxModule } from '@postcommit/core';
      import { OutboxPgModule } from '@postcommit/store-pg';
      import pg from 'pg';
      const pool = new pg.Pool({ connectionString: process.env.TEST_DATABASE });
      export default defineConfig({
        modules: [OutboxModule.forRoot({ publisher: async () => {} }), OutboxPgModule.forRoot({ pool })],
        close: () => pool.end(),
      });`;
    const { code, output } = await project.runOnTerminal(['dispatch', '--loop', '--limit', '5'], {
      columns: 60,
      env: { TEST_DATABASE: postgres.url },
      files: { 'outbox.config.ts': config },
    });
    expect(code).toBe(0);
    const bars = output.split('\r').filter((line) => line.startsWith('['));
    expect(bars.map((bar) => /\] (\d+%) (\d+\/\d+) /.exec(bar)?.slice(1))).toEqual([
      ['25%', '5/20'],
      ['50%', '10/20'],
      ['75%', '15/20'],
      ['100%', '20/20'],
    ]);
    expect(output).toContain(
      '\r\u001b[KFETCHED  DISPATCHED  FAILED  DEAD\r\n20       20          0       0\r\n',
    );
  });

  it('an error is one line', async () => {
    const { code, output } = await outbox(100, 'outbox:retry', 'nope');
    expect({ code, output }).toEqual({ code: 1, output: "outbox:retry: no row with id 'nope'\r\n" });
  });
});

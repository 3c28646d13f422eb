import { OutboxDispatcher, type OutboxEntry, PermanentError } from '@postcommit/core';
import { PgOutboxStore } from '@postcommit/store-pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { ensureSchema, shiftTimes, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { type Ended, useProject } from './project-fixture.js';

/** The binary as it is published, on a real database that only DATABASE_URL names, in a pipe. */
const postgres = usePostgres();
const project = useProject();
const DAY_MS = 86_400_000;

const outbox = (...args: string[]): Promise<Ended> =>
  project.run(args, { env: { DATABASE_URL: postgres.url } });
const succeeds = (...lines: string[]): Ended => ({
  code: 0,
  stdout: lines.map((line) => `${line}\n`).join(''),
  stderr: '',
});
const store = (): PgOutboxStore => new PgOutboxStore(postgres.pool);

/** Rows that end dead with that error. */
async function dead(error: string, ...entries: OutboxEntry[]): Promise<void> {
  await store().enqueue(entries);
  await new OutboxDispatcher(store(), () => Promise.reject(new PermanentError(error))).dispatchPending();
}

async function dispatched(...entries: OutboxEntry[]): Promise<void> {
  await store().enqueue(entries);
  await new OutboxDispatcher(store(), async () => {}).dispatchPending();
}

beforeEach(async () => {
  await ensureSchema(postgres);
  await postgres.query('truncate outbox');
});

describe('outbox:stats', () => {
  it('counts rows by state', async () => {
    await dead('no', { topic: 'a', payload: 1 });
    await dispatched({ topic: 'a', payload: 1 }, { topic: 'a', payload: 2 });
    await store().enqueue({ topic: 'a', payload: 1 });
    expect(await outbox('outbox:stats')).toEqual(
      succeeds('outbox:stats pending=1 dispatched=2 dead=1 total=4'),
    );
    expect(await outbox('stats', '--json')).toEqual(
      succeeds(
        '{"pending":1,"dispatched":2,"dead":1,"total":4,"deadRows":[{"topic":"a","reason":"permanent","count":1}]}',
      ),
    );
  });
});

describe('outbox:list', () => {
  it('prints a line for each row, without payloads', async () => {
    await dead('no', { id: 'abc123', topic: 'order.refunded', payload: { card: '4111' } });
    // By hand: what the dispatcher records is masked before it is stored.
    await postgres.query(
      "update outbox set attempts = 10, created_at = '2026-01-31T12:00:00Z', last_error = $1",
      ['Stripe webhook 502 at https://api:k/ey@stripe.example/v1 by Bearer sk_live_4111'],
    );
    const line =
      'abc123 state=dead topic=order.refunded attempts=10 createdAt=2026-01-31T12:00:00.000Z lastError="Stripe webhook 502 at https://***@stripe.example/v1 by Bearer ***"';
    expect(await outbox('outbox:list', '--state', 'dead')).toEqual(succeeds(line));
    expect(await outbox('outbox:list', '--payload')).toEqual(succeeds(`${line} payload={"card":"4111"}`));
    expect((await outbox('outbox:list', '--json')).stdout).not.toContain('4111');
  });

  it('leaves out the error of a row without one', async () => {
    await store().enqueue({ id: 'x', topic: 'order.paid', payload: 1 });
    const { stdout } = await outbox('outbox:list');
    expect(stdout).toMatch(
      /^x state=pending topic=order.paid attempts=0 createdAt=\d{4}-\d\d-\d\dT[\d:.]+Z\n$/,
    );
  });

  it('shows twenty rows, or up to the limit', async () => {
    await store().enqueue(Array.from({ length: 25 }, () => ({ topic: 'a', payload: 1 })));
    expect((await outbox('outbox:list')).stdout.match(/\n/g)).toHaveLength(20);
    expect((await outbox('outbox:list', '--limit', '3')).stdout.match(/\n/g)).toHaveLength(3);
    expect((await outbox('outbox:list', '--limit', '100')).stdout.match(/\n/g)).toHaveLength(25);
  });

  it.each([
    [['--state', 'pending'], ['p']],
    [['--topic', 'order.paid'], ['p']],
    [['--key', 'k1'], ['p']],
    [['--error', '50%'], ['d']],
    [['--reason', 'permanent'], ['d']],
    [['--reason', 'exhausted'], []],
    [['--created-after', '2026-01-02'], ['p']],
    [['--created-before', '2026-01-02T00:00:00+00:00'], ['d']],
    [['--dead-after', '2020-01-01'], ['d']],
    [['--dead-before', '2020-01-01'], []],
  ])('lists only what matches %j', async (args, ids) => {
    await dead('only 50% left', { id: 'd', topic: 'order.refunded', payload: 1 });
    await postgres.query("update outbox set created_at = '2026-01-01T12:00:00Z'");
    await store().enqueue({ id: 'p', topic: 'order.paid', key: 'k1', payload: 1 });
    const { code, stdout } = await outbox('outbox:list', '--json', ...args);
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as { id: string }[]).map(({ id }) => id)).toEqual(ids);
  });

  it('prints nothing that a terminal would interpret', async () => {
    await postgres.query(
      'insert into outbox (id, topic, key, payload, last_error) values ($1, $2, $3, $4, $5)',
      ['\u001b[2Jid', 'to\u009bpic', 'k\u202eey', '"\u007f"', 'a\nb\u001b]0;x\u0007'],
    );
    const { stdout } = await outbox('outbox:list', '--payload');
    expect(stdout).toMatch(
      /^"\\u001b\[2Jid" state=pending topic="to\\u009bpic" .* lastError="a\\nb\\u001b\]0;x\\u0007" payload="\\u007f"\n$/,
    );
    const json = (await outbox('outbox:list', '--json')).stdout;
    expect(JSON.parse(json)).toMatchObject([{ id: '\u001b[2Jid', topic: 'to\u009bpic', key: 'k\u202eey' }]);
    expect(json).toMatch(/^[\x20-\x7e]+\n$/);
  });

  it('ends quietly when its reader does', async () => {
    await store().enqueue(Array.from({ length: 2_000 }, () => ({ topic: 'a'.repeat(200), payload: 1 })));
    const child = await project.start(['list', '--limit', '2000'], { env: { DATABASE_URL: postgres.url } });
    let stderr = '';
    child.stderr?.on('data', (data) => {
      stderr += data;
    });
    child.stdout?.once('data', () => child.stdout?.destroy());
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('outbox:retry', () => {
  it('requeues one row', async () => {
    await dead('no', { id: 'abc123', topic: 'a', payload: 1 });
    expect(await outbox('outbox:retry', 'abc123')).toEqual(succeeds('outbox:retry id=abc123 requeued'));
    expect(await store().count()).toMatchObject({ pending: 1, dead: 0 });
    expect(await outbox('retry', 'abc123', '--json')).toEqual(succeeds('{"id":"abc123","requeued":true}'));
  });

  it('accepts an id that looks like an option after --', async () => {
    await dead('no', { id: '-x', topic: 'a', payload: 1 });
    expect(await outbox('outbox:retry', '--', '-x')).toEqual(succeeds('outbox:retry id=-x requeued'));
  });

  it('fails for an unknown id, in one line', async () => {
    expect(await outbox('outbox:retry', 'no\u001b[31mpe')).toEqual({
      code: 1,
      stdout: '',
      stderr: "outbox:retry: no row with id 'no\\u001b[31mpe'\n",
    });
  });

  it('requeues matching rows, after a dry run that changes nothing', async () => {
    await dead(
      'timeout',
      { id: 'a', topic: 'order.paid', payload: 1 },
      { id: 'b', topic: 'order.paid', payload: 1 },
    );
    await dead('gone', { id: 'c', topic: 'order.paid', payload: 1 });
    const dry = await outbox('outbox:retry', '--error', 'timeout', '--dry-run');
    expect(dry.stdout.split('\n').map((line) => line.split(' ')[0])).toEqual(['a', 'b', 'outbox:retry', '']);
    expect(dry.stdout).toContain('outbox:retry wouldRequeue=2 matching=2\n');
    expect(await store().count()).toMatchObject({ dead: 3 });
    expect(await outbox('outbox:retry', '--error', 'timeout')).toEqual(succeeds('outbox:retry requeued=2'));
    expect(await store().count()).toMatchObject({ pending: 2, dead: 1 });
  });

  it('gives rows a new policy', async () => {
    await dead('no', { id: 'a', topic: 't', payload: 1, retry: { maxAttempts: 1 } });
    const policy = ['--attempts', '5', '--backoff', 'exponential:1s:1m'];
    expect(await outbox('retry', 'a', ...policy)).toEqual(succeeds('outbox:retry id=a requeued'));
    expect((await store().peek({ id: 'a' }, 1))[0]?.retry).toEqual({
      maxAttempts: 5,
      backoff: { type: 'exponential', delayMs: 1_000, maxDelayMs: 60_000 },
    });
  });

  it('requeues no more than the limit, and dead rows unless a state is named', async () => {
    await dead('no', ...Array.from({ length: 5 }, () => ({ topic: 'order.paid', payload: 1 })));
    await dispatched({ id: 'sent', topic: 'order.paid', payload: 1 });
    const filter = ['--topic', 'order.paid', '--limit', '3'];
    expect((await outbox('outbox:retry', ...filter, '--dry-run')).stdout).toMatch(
      /^(.* state=dead .*\n){3}outbox:retry wouldRequeue=3 matching=5\n$/,
    );
    expect(await outbox('outbox:retry', ...filter)).toEqual(succeeds('outbox:retry requeued=3'));
    expect(await store().count()).toMatchObject({ pending: 3, dispatched: 1, dead: 2 });
    expect(await outbox('outbox:retry', '--state', 'dispatched')).toEqual(
      succeeds('outbox:retry requeued=1'),
    );
  });
});

describe('outbox:cancel', () => {
  it('cancels a row, and reports whether a worker may still publish it', async () => {
    await store().enqueue(['a', 'b'].map((id) => ({ id, topic: 't', payload: 1 })));
    const [held] = await store().fetchPending(1);
    const free = held?.id === 'a' ? 'b' : 'a';
    expect(await outbox('cancel', free)).toEqual(succeeds(`outbox:cancel id=${free} cancelled`));
    expect(await outbox('cancel', held?.id ?? '')).toEqual(
      succeeds(`outbox:cancel id=${held?.id} may-still-be-published`),
    );
    expect(await outbox('cancel', free)).toMatchObject({
      code: 1,
      stderr: `outbox:cancel: no pending row with id '${free}'\n`,
    });
  });
});

describe('outbox:discard', () => {
  it('deletes dead rows by id, and reports ids that were not dead', async () => {
    await dead('no', { id: 'a', topic: 't', payload: 1 }, { id: 'b', topic: 't', payload: 1 });
    await store().enqueue({ id: 'p', topic: 't', payload: 1 });
    expect(await outbox('outbox:discard', 'a', 'a')).toEqual(succeeds('outbox:discard discarded=1'));
    expect(await outbox('outbox:discard', 'b', 'p', 'nope')).toEqual({
      code: 1,
      stdout: 'outbox:discard discarded=1\n',
      stderr: 'outbox:discard: 2 of 3 ids are not the id of a dead row\n',
    });
    expect(await outbox('outbox:discard', 'p')).toMatchObject({
      code: 1,
      stderr: "outbox:discard: no dead row with id 'p'\n",
    });
    expect(await store().count()).toMatchObject({ pending: 1, dead: 0 });
  });

  it('deletes matching rows, after a dry run that changes nothing', async () => {
    await dead('no', { id: 'a', topic: 't', payload: 1 }, { id: 'b', topic: 'u', payload: 1 });
    await store().enqueue({ id: 'p', topic: 't', payload: 1 });
    expect((await outbox('outbox:discard', '--topic', 't', '--dry-run')).stdout).toMatch(
      /^a state=dead .*\noutbox:discard wouldDiscard=1 matching=1\n$/,
    );
    expect(await store().count()).toMatchObject({ dead: 2 });
    expect(await outbox('outbox:discard', '--topic', 't')).toEqual(succeeds('outbox:discard discarded=1'));
    expect(await store().count()).toMatchObject({ pending: 1, dead: 1 });
  });
});

describe('outbox:purge', () => {
  it('deletes dispatched or dead rows by age', async () => {
    await dispatched({ topic: 't', payload: 1 });
    await dead('no', { topic: 't', payload: 1 });
    await shiftTimes(postgres, 8 * DAY_MS);
    await dispatched({ topic: 't', payload: 1 });
    await store().enqueue({ topic: 't', payload: 1 });
    expect(await outbox('outbox:purge', '--older-than', '7d')).toEqual(succeeds('outbox:purge dispatched=1'));
    expect(await store().count()).toEqual({ pending: 1, dispatched: 1, dead: 1, total: 3 });
    expect(await outbox('outbox:purge', '--older-than', '2w', '--dead')).toEqual(
      succeeds('outbox:purge dead=0'),
    );
    expect(await outbox('outbox:purge', '--older-than', '7d', '--dead')).toEqual(
      succeeds('outbox:purge dead=1'),
    );
    expect(await outbox('outbox:purge', '--older-than', '0s', '--json')).toEqual(
      succeeds('{"dispatched":1}'),
    );
    expect(await store().count()).toMatchObject({ pending: 1, total: 1 });
  });
});

describe('the table', () => {
  const drop = 'drop table outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused';

  it('is reported as missing by commands and the doctor, and created by outbox:migrate', async () => {
    await postgres.query(drop);
    const stats = await outbox('outbox:stats');
    expect(stats).toMatchObject({ code: 1, stdout: '' });
    expect(stats.stderr).toMatch(
      /^outbox:stats: the table "outbox" does not exist: run 'outbox:migrate'.*\n$/,
    );
    const sick = await outbox('outbox:doctor');
    expect(sick).toMatchObject({
      code: 1,
      stderr: 'outbox:doctor: 1 problem must be fixed before the outbox can run\n',
    });
    expect(sick.stdout).toMatch(
      /^outbox:doctor problems=1\nrequired problem="table \\"outbox\\" does not exist" fix="create table .*;"\n$/,
    );
    expect(await outbox('outbox:migrate')).toEqual(succeeds('outbox:migrate fixed=1'));
    expect(await outbox('outbox:migrate')).toEqual(succeeds('outbox:migrate fixed=0'));
    expect(await outbox('outbox:doctor')).toEqual(
      succeeds('outbox:doctor pending=0 oldestPendingAgeMs=0 problems=0'),
    );
  });

  it('from before an upgrade is counted, and the other commands say what is missing', async () => {
    await postgres.query('drop table outbox_workers, outbox_paused');
    expect(await outbox('outbox:stats')).toEqual(
      succeeds('outbox:stats pending=0 dispatched=0 dead=0 total=0'),
    );
    const { code, stderr } = await outbox('outbox:workers');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^outbox:workers: the table .* does not exist: run 'outbox:migrate'/);
    expect((await outbox('outbox:pause', 'a')).stderr).toContain("does not exist: run 'outbox:migrate'");
    expect((await outbox('outbox:doctor')).stdout).toContain('required problem="table');
  });

  it('matches what outbox:schema prints', async () => {
    const { code, stdout } = await outbox('outbox:schema');
    expect(code).toBe(0);
    await postgres.query(drop);
    await postgres.pool.query(stdout);
    expect((await outbox('outbox:doctor')).stdout).toContain('problems=0');
  });

  it('can be printed without a database', async () => {
    const away = await project.run(['outbox:schema'], {
      env: { DATABASE_URL: 'postgres://127.0.0.1:1/none' },
    });
    expect(away).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('outbox:doctor', () => {
  it('reports how long rows have waited', async () => {
    await store().enqueue({ topic: 't', payload: 1 });
    await shiftTimes(postgres, DAY_MS);
    const { stdout } = await outbox('outbox:doctor', '--json');
    const { pending, oldestPendingAgeMs, problems } = JSON.parse(stdout);
    expect({ pending, problems }).toEqual({ pending: 1, problems: [] });
    expect(oldestPendingAgeMs).toBeGreaterThanOrEqual(DAY_MS);
  });

  it('reports what only slows the outbox down, and exits with 0', async () => {
    await postgres.query('alter table outbox set (fillfactor = 100)');
    const { code, stdout } = await outbox('outbox:doctor');
    expect(code).toBe(0);
    expect(stdout).toMatch(/\ntuning problem="storage settings differ.*" fix="alter table .*;"\n$/);
  });

  it('reports a transaction that holds back vacuum, with the statement that ends it', async () => {
    const client = await postgres.pool.connect();
    client.on('error', () => {});
    try {
      await client.query('begin isolation level repeatable read');
      const { rows } = await client.query('select pg_backend_pid() as pid');
      const fix = `select pg_terminate_backend(${rows[0].pid});`;
      expect((await outbox('outbox:doctor')).stdout).toContain('problems=0');
      const { code, stdout } = await outbox('outbox:doctor', '--transaction-age', '0s', '--json');
      expect(code).toBe(0);
      expect(JSON.parse(stdout).problems).toContainEqual(expect.objectContaining({ level: 'tuning', fix }));
      await postgres.query(fix);
      expect((await outbox('outbox:doctor', '--transaction-age', '0s')).stdout).not.toContain(fix);
    } finally {
      client.release(true);
    }
  });
});

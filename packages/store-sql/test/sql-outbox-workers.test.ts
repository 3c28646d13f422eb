import type { OutboxWorkers } from '@postcommit/core/internal';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SqlOutboxPauses } from '../src/capabilities/sql-outbox-pauses.js';
import { SqlOutboxWorkers } from '../src/capabilities/sql-outbox-workers.js';
import { claimOf, newRow, type SqlSession } from './sql-session.js';
import { describeOnDatabases } from './test-databases.js';

const REPORT = { rowsInFlight: 0, isListening: false, outages: [] };
const KEYS = [undefined, 'k'];

describeOnDatabases((fixture) => {
  const { dialect, table } = fixture;
  let workers: OutboxWorkers;
  let other: SqlSession;

  beforeEach(async () => {
    await fixture.clear();
    workers = new SqlOutboxWorkers(fixture.executor, { dialect });
    other = await fixture.connect();
    for (const id of ['w1', 'w2'])
      await workers.register({ id, host: 'h', pid: 1, version: '1', takeoverMs: 20_000 }, REPORT);
  });

  afterEach(() => other.end());

  /** Claims three rows of each kind for `w2`. */
  async function claimed(): Promise<void> {
    for (const key of KEYS) {
      const ids = [1, 2, 3].map((place) => `${key ?? 'u'}${place}`);
      await other.run(
        dialect.insert(
          table,
          ids.map((id) => newRow(id, key)),
        ),
      );
    }
    await other.run(dialect.claimUnkeyed(table, claimOf({ token: 'w2.1' })));
    await other.run(dialect.claimKeyed(table, claimOf({ token: 'w2.2' })));
  }

  async function declareLost(id: string): Promise<void> {
    const seen = (await workers.beat('w1', REPORT))?.find((worker) => worker.id === id);
    expect(await workers.declareLost(id, seen?.lastSeen ?? '')).toBe(true);
  }

  const isRecorded = async (id: string): Promise<boolean> =>
    (await workers.list()).some((worker) => worker.id === id);

  it('a missing table is named, with the command that creates it', async () => {
    const beside = (suffix: string): string => table.quoted(suffix);
    const error = (suffix: string) => ({
      code: 'SCHEMA_OUTDATED',
      message: expect.stringContaining(`the table ${beside(suffix)} does not exist: run 'outbox:migrate'`),
    });
    for (const suffix of ['_workers', '_paused'])
      await fixture.query(`alter table outbox${suffix} rename to hidden${suffix}`);
    try {
      await expect(workers.beat('w1', REPORT)).rejects.toMatchObject(error('_workers'));
      const pauses = new SqlOutboxPauses(fixture.executor, { dialect });
      await expect(pauses.pause('t')).rejects.toMatchObject(error('_paused'));
    } finally {
      for (const suffix of ['_workers', '_paused'])
        await fixture.query(`alter table hidden${suffix} rename to outbox${suffix}`);
    }
  });

  it('a heartbeat waits neither for claims nor for a takeover', async () => {
    await claimed();
    await declareLost('w2');
    await other.begin();
    await other.run(dialect.workers.endClaims(table, 'w2', 100));
    await other.sql('select id from outbox for update');
    expect(await workers.beat('w1', REPORT)).toHaveLength(1);
    await other.rollback();
  });

  it('a heartbeat does not wait for the record of another worker', async () => {
    await other.begin();
    await other.sql(`update outbox_workers set pid = 2 where id = 'w2'`);
    expect(await workers.beat('w1', REPORT)).toHaveLength(1);
    await other.rollback();
  });

  it('a takeover waits for no lock, and keeps the record until it has ended every claim', async () => {
    await claimed();
    await declareLost('w2');
    await other.begin();
    await other.sql(`select id from outbox where id in ('u2', 'k1') for update`);
    expect(await workers.takeOver('w2')).toBe(4);
    expect(await isRecorded('w2')).toBe(true);
    await other.commit();
    expect(await workers.takeOver('w2')).toBe(2);
    expect(await isRecorded('w2')).toBe(false);
  });

  it('an extension that comes before the takeover is ended by it, one that comes after it is refused', async () => {
    await claimed();
    await declareLost('w2');
    await other.begin();
    const extend = dialect.extendClaim(table, 'w2.2', ['k1', 'k2', 'k3'], 600_000);
    expect(await other.run(extend)).toHaveLength(3);
    expect(await workers.takeOver('w2')).toBe(3);
    await other.commit();
    expect(await workers.takeOver('w2')).toBe(3);
    expect(await other.run(extend)).toEqual([]);
  });

  it('a takeover ends no claim that somebody else has taken meanwhile', async () => {
    await claimed();
    await declareLost('w2');
    await workers.takeOver('w2');
    await other.run(dialect.claimUnkeyed(table, claimOf({ token: 'w3.1' })));
    await workers.register({ id: 'w2', host: 'h', pid: 1, version: '1', takeoverMs: 20_000 }, REPORT);
    await declareLost('w2');
    expect(await workers.takeOver('w2')).toBe(0);
    const [taken] = await fixture.query(`select count(*) as held from outbox where claim_token = 'w3.1'
      and claimed_until > ${fixture.now} + interval '1' minute`);
    expect(Number(taken?.held)).toBe(1);
  });

  it('a row that was retaken without end waits until its claim expires, and no longer', async () => {
    await claimed();
    await fixture.query('update outbox set retakes = 2147483647');
    const until = `select max(claimed_until) as latest, min(claimed_until) as first from outbox`;
    const before = await fixture.query(until);
    await declareLost('w2');
    expect(await workers.takeOver('w2')).toBe(0);
    expect(await fixture.query(until)).toEqual(before);
    expect(await isRecorded('w2')).toBe(false);
  });
});

import { type SqlStatement, type SqlWork, sqlite, TableName } from '@postcommit/store-sql';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimOf } from './sql-session.js';
import { SqliteDatabase } from './sqlite-database.js';

const TABLE = new TableName();
let database: SqliteDatabase;

beforeEach(async () => {
  database = await SqliteDatabase.open();
  for (const text of sqlite.schema.create(TABLE)) database.query(text);
  // Rows of every kind, so that work takes all its steps.
  const rows = Array.from({ length: 40 }, (_, index) => ({
    id: `r${index}`,
    topic: 't',
    payload: '{}',
    ...(index % 2 === 0 && { key: `key-${index % 4}` }),
  }));
  database.run(sqlite.insert(TABLE, rows));
});
afterEach(() => database.close());

/** What SQLite does for each statement of the work. */
function plansOf(work: SqlWork): string[] {
  const explain = ({ text, values }: SqlStatement): string[] =>
    database.query(`explain query plan ${text}`, ...values).map(({ detail }) => String(detail));
  if (typeof work !== 'function') return explain(work);
  const plans: string[] = [];
  const steps = work();
  for (let step = steps.next(); !step.done; step = steps.next(database.run(step.value))) {
    plans.push(...explain(step.value));
  }
  return plans;
}

const ids = ['r1', 'r2'];
const EXCEPT = { exceptTopics: ['away'] };
const after = { availableAt: '0', seq: '0' };

const bounded: Record<string, SqlWork> = {
  'a claim without keys': sqlite.claimUnkeyed(TABLE, claimOf()),
  'a claim with keys': sqlite.claimKeyed(TABLE, claimOf()),
  'a claim with keys that goes on': sqlite.claimKeyed(TABLE, claimOf({ after })),
  'a claim with keys that looks up parked ones': sqlite.claimKeyed(
    TABLE,
    // The window is empty and full at once, so that the claim takes all steps.
    claimOf({ after, window: 0, parked: ['none', 'key-3'] }),
  ),
  'a sweep through the keys': sqlite.pendingKeys(TABLE, undefined, 500),
  'one that goes on, through the keys': sqlite.pendingKeys(TABLE, 'key-1', 500),
  'a claim that leaves out topics': sqlite.claimUnkeyedExcept(TABLE, { ...claimOf(), ...EXCEPT }),
  'one that goes on': sqlite.claimUnkeyedExcept(TABLE, { ...claimOf({ after }), ...EXCEPT }),
  'one of rows with keys': sqlite.claimKeyed(TABLE, { ...claimOf(), ...EXCEPT }),
  'the release of a token': sqlite.releaseToken(TABLE, 'token'),
  'an extended claim': sqlite.extendClaim(TABLE, 'token', ids, 1_000),
  'settled as dispatched': sqlite.settleDispatched(TABLE, 'token', ids),
  'settled as failed': sqlite.settleUnpublished(TABLE, 'token', [
    { id: 'r1', kind: 'failed', error: 'no', delayMs: 1 },
  ]),
  'a look for receipts': sqlite.findReceipts(TABLE, 'token', [{ id: 'r1', kind: 'dispatched' }]),
  counts: sqlite.count(TABLE),
  'dead rows by topic and reason': sqlite.countDead(TABLE, 10),
  'the backlog': sqlite.backlog(TABLE, undefined),
  'when the next row falls due': sqlite.lookAhead(TABLE),
  'peek at all rows': sqlite.peek(TABLE, {}, 10),
  'peek at the rows of a topic': sqlite.peek(TABLE, { topic: 't' }, 10),
  'peek at pending rows': sqlite.peek(TABLE, { state: 'pending' }, 10),
  'a look at dead rows': sqlite.peek(TABLE, { state: 'dead' }, 10),
  'peek at dispatched rows': sqlite.peek(TABLE, { state: 'dispatched' }, 10),
  'a requeued row': sqlite.requeue(TABLE, 'r1'),
  'requeued dead rows': sqlite.requeueWhere(TABLE, { state: 'dead', topic: 't' }, 10),
  'a cancelled row': sqlite.cancel(TABLE, 'r1'),
  'a purged page': sqlite.purgePage(TABLE, 'dispatched', { ageMs: 1 }, 10),
  'a purged page of a topic': sqlite.purgePage(TABLE, 'dead', new Date(0), 10, 't'),
  'purged messages': sqlite.processed.purgePage(TABLE, 1, 10),
};

it.each(Object.entries(bounded))('%s never reads the whole table', (_name, work) => {
  const plans = plansOf(work);
  expect(plans.length).toBeGreaterThan(0);
  expect(plans.filter((line) => /^SCAN (outbox\w*|o|c|h)$/.test(line))).toEqual([]);
});

it.each([
  ['peek at all rows', sqlite.peek(TABLE, {}, 10)],
  ['a look at dead rows of a topic', sqlite.peek(TABLE, { state: 'dead', topic: 't' }, 10)],
  ['requeued dead rows', sqlite.requeueWhere(TABLE, { state: 'dead', topic: 't' }, 10)],
])('%s reads each state in the order of its index, and sorts only within the limit', (_name, work) => {
  const plans = plansOf(work);
  expect(plans).toContainEqual(expect.stringMatching(/outbox USING INDEX outbox_dead\b/));
  // A sort is listed behind what it sorts.
  const sorted = plans.filter((_line, index) => /^USE TEMP B-TREE/.test(plans[index + 1] ?? ''));
  expect(sorted.filter((line) => /\boutbox\b/.test(line))).toEqual([]);
});

it.each([undefined, after])('a window of rows is read in the order of its index, from %o', (place) => {
  const plans = plansOf(sqlite.claimUnkeyedExcept(TABLE, { ...claimOf({ after: place }), ...EXCEPT }));
  expect(plans[0]).toMatch(/^SEARCH o USING INDEX outbox_due\b/);
  expect(plans.filter((line) => /TEMP B-TREE/.test(line))).toEqual([]);
});

it('a sweep goes from key to key in the index', () => {
  for (const after of [undefined, 'key']) {
    const { text, values } = sqlite.pendingKeys(TABLE, after, 2);
    expect(database.query(text, ...values)).toEqual([{ key: 'key-0' }, { key: 'key-2' }]);
    const plans = plansOf({ text, values });
    expect(
      plans.filter((line) => /^SEARCH o USING (COVERING )?INDEX outbox_keyed \(key>\?\)/.test(line)),
    ).toHaveLength(2);
    expect(plans.filter((line) => /TEMP B-TREE/.test(line))).toEqual([]);
  }
});

it('parked keys are found by the index, key by key', () => {
  expect(plansOf(sqlite.claimKeyed(TABLE, claimOf({ window: 0, parked: ['none'] })))).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^SEARCH c USING (COVERING )?INDEX outbox_claimed_key/),
      expect.stringMatching(/^SEARCH outbox USING (COVERING )?INDEX outbox_keyed \(key=\?\)/),
      expect.stringMatching(
        /^SCAN outbox USING COVERING INDEX outbox_claimed_key|^SEARCH outbox USING COVERING INDEX outbox_claimed_key/,
      ),
    ]),
  );
});

it('the rows of a key are found by the index, key by key', () => {
  expect(plansOf(sqlite.claimKeyed(TABLE, claimOf()))).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^SEARCH o USING INDEX outbox_keyed_due/),
      expect.stringMatching(/^SEARCH c USING INDEX outbox_claimed_key/),
      expect.stringMatching(/^SEARCH outbox USING INDEX outbox_keyed \(key=\?\)/),
    ]),
  );
});

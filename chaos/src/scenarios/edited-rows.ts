import { LONG_CLAIM_MS } from '../arena.js';
import type { Scenario } from '../scenario.js';

const group = 'the data';
const SOON = { type: 'fixed', delayMs: 20 } as const;

/** What somebody with a console may do to one row. Its neighbours, before and behind it in its key, must not suffer. */
const EDITS: readonly { readonly order: string; readonly set: string; readonly isRuined?: true }[] = [
  { order: 'no-payload', set: 'payload = null', isRuined: true },
  { order: 'payload-of-another-kind', set: `payload = '"just text"'`, isRuined: true },
  { order: 'headers-of-another-kind', set: `headers = '[1, 2]'`, isRuined: true },
  { order: 'backoff-of-another-kind', set: `backoff = '"soon"'`, isRuined: true },
  { order: 'limit-below-zero', set: 'max_attempts = -1', isRuined: true },
  { order: 'attempts-at-the-end', set: 'attempts = 2147483647' },
  { order: 'retakes-below-zero', set: 'retakes = -5' },
  {
    order: 'retakes-at-the-end',
    set: `retakes = 2147483647, claim_token = 'nobody', claimed_at = '1970-01-01', claimed_until = '1970-01-01'`,
  },
  { order: 'topic-changed', set: `topic = 'something.else'` },
  { order: 'key-taken-away', set: 'key = null' },
  { order: 'key-changed', set: `key = 'another'` },
  { order: 'due-long-ago', set: `available_at = '1970-01-01'` },
  { order: 'due-since-for-ever', set: `available_at = '-infinity'` },
  {
    order: 'claimed-by-nobody',
    set: `claim_token = 'nobody', claimed_at = now(), claimed_until = now() + interval '1 second'`,
  },
  {
    order: 'claimed-long-ago',
    set: `claim_token = 'nobody', claimed_at = '-infinity', claimed_until = '-infinity'`,
  },
  { order: 'created-in-the-future', set: `created_at = now() + interval '100 years'` },
];

const editedByHand: Scenario = {
  group,
  name: 'rows edited by hand',
  rules: {
    duplicates: 'none',
    deadReasons: ['undecodable', 'exhausted', 'crashed'],
    ruined: new Set(EDITS.flatMap(({ order, isRuined }) => (isRuined ? [order] : []))),
  },
  run: async (arena) => {
    for (const { order } of EDITS) {
      await arena.produceAtOnce([
        { id: `${order}-before`, key: order },
        { id: order, key: order },
        { id: `${order}-behind`, key: order },
        { id: `${order}-beside` },
      ]);
    }
    for (const { order, set } of EDITS) {
      await arena.query(`update outbox set ${set} where payload->>'order' = $1`, [order]);
    }
    const worker = await arena.start({ settings: { backoff: SOON, maxAttempts: 5 } });
    await arena.drained();
    arena.expect(worker.isAlive, 'I9: the worker did not outlive an edited row');
    const dead = await arena.query<{ id: string }>(
      `select payload->>'order' as id from outbox where dead_at is not null and payload->>'order' ~ '(before|behind|beside)$'`,
    );
    arena.expect(dead.length === 0, `I9: neighbours are dead: ${dead.map(({ id }) => id).join()}`);
  },
};

/** Edited while a worker holds them: deleted, dispatched, dead and put back by hand. */
const editedInFlight: Scenario = {
  group,
  name: 'rows edited by hand while they are published',
  rules: { deadReasons: ['cancelled'], ruined: new Set(['deleted']) },
  run: async (arena) => {
    const ids = ['deleted', 'done-by-hand', 'killed-by-hand', 'put-back', 'untouched'];
    await arena.produceAtOnce(ids.map((id) => ({ id })));
    const worker = await arena.start({
      stopAt: 'after the publish, before the ack',
      claimTimeoutMs: LONG_CLAIM_MS,
    });
    await worker.stopsAtPoint();
    const where = `where payload->>'order' = $1`;
    await arena.query(`delete from outbox ${where}`, ['deleted']);
    await arena.query(`update outbox set dispatched_at = now(), claimed_key = null ${where}`, [
      'done-by-hand',
    ]);
    await arena.query(
      `update outbox set dead_at = now(), dead_reason = 'cancelled', claimed_key = null ${where}`,
      ['killed-by-hand'],
    );
    const [row] = await arena.query<{ id: string }>(`select id from outbox ${where}`, ['put-back']);
    // Recorded first: the worker may claim the row again at once.
    await arena.ledger.operated([{ rowId: row?.id ?? '', what: 'put back' }]);
    await arena.query(
      `update outbox set claim_token = null, claimed_at = null, claimed_until = null ${where}`,
      ['put-back'],
    );
    worker.send({ do: 'go on' });
    await arena.drained();
    // It ends after all its settles are answered, and has emitted all its events by then.
    await worker.terminate();
    arena.expect(worker.heard('fenced').length > 0, 'I3: nobody was told that the claim was gone');
    const [killed] = await arena.query<{ isDead: boolean }>(
      `select dead_at is not null and dispatched_at is null as "isDead" from outbox ${where}`,
      ['killed-by-hand'],
    );
    arena.expect(killed?.isDead === true, 'I3: the ack changed a row that an operator had ended');
  },
};

export const editedRowsScenarios: readonly Scenario[] = [editedByHand, editedInFlight];

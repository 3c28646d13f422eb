/** What the story asks the tables. */
import type pg from 'pg';

/** Delivered by that dispatcher, and not yet recorded in the outbox. */
export async function publishedUnrecorded(pool: pg.Pool, dispatcher: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(distinct d.message_id)::int as count
     from outbox o join deliveries d on d.message_id = o.id
     where o.dispatched_at is null and o.dead_at is null and d.dispatcher = $1`,
    [dispatcher],
  );
  return rows[0]?.count ?? 0;
}

/** The rows that somebody, dead or alive, has claimed. */
export async function claimedIds(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'select id from outbox where dispatched_at is null and dead_at is null and claim_token is not null',
  );
  return rows.map(({ id }) => id);
}

export async function areDispatched(pool: pg.Pool, ids: readonly string[]): Promise<boolean> {
  const { rows } = await pool.query(
    'select from outbox where id = any($1) and dispatched_at is null limit 1',
    [ids],
  );
  return rows.length === 0;
}

/** Notes that a row is dead, and what had arrived until then: the proof asks for a delivery after that. */
export async function noteReplay(pool: pg.Pool, id: string): Promise<void> {
  await pool.query(
    `insert into replays (message_id, dead_reason, attempts, after_arrival)
     select id, dead_reason, attempts, (select coalesce(max(arrival), 0) from deliveries)
     from outbox
     where id = $1 and dead_at is not null`,
    [id],
  );
}

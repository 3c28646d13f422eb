import type pg from 'pg';

/** What no table keeps: a rollback leaves nothing behind, and a replay sets the row's attempts back to nought. */
export interface Counted {
  readonly rolledBack: number;
  readonly failedTries: number;
}

/** What the tables say at one moment, and what was counted until then. */
export interface Counters extends Counted {
  readonly committed: number;
  readonly delivered: number;
  readonly pending: number;
  readonly dead: number;
  readonly byA: number;
  readonly byB: number;
  readonly takenOver: number;
}

export async function readCounters(pool: pg.Pool, counted: Counted): Promise<Counters> {
  const { rows } = await pool.query<Omit<Counters, keyof Counted>>(`
    select
      (select count(*)::int from order_changes) as committed,
      d.delivered, d."byA", d."byB", d."takenOver",
      o.pending, o.dead
    from (
      select
        count(distinct message_id)::int as delivered,
        count(*) filter (where dispatcher = 'A')::int as "byA",
        count(*) filter (where dispatcher = 'B')::int as "byB",
        count(*) filter (where is_taken_over)::int as "takenOver"
      from deliveries
    ) d, (
      select
        count(*) filter (where dispatched_at is null and dead_at is null)::int as pending,
        count(*) filter (where dead_at is not null)::int as dead
      from outbox
    ) o`);
  const [counters] = rows;
  if (!counters) throw new Error('a query of aggregates gives one row');
  return { ...counters, ...counted };
}

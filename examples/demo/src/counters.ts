import type pg from 'pg';

/** What the tables say at one moment; only rollbacks are counted by the producers, since they leave nothing behind. */
export interface Counters {
  readonly committed: number;
  readonly rolledBack: number;
  readonly delivered: number;
  readonly pending: number;
  readonly dead: number;
  readonly failedTries: number;
  readonly byA: number;
  readonly byB: number;
  readonly takenOver: number;
}

export async function readCounters(pool: pg.Pool, rolledBack: number): Promise<Counters> {
  const { rows } = await pool.query<Omit<Counters, 'rolledBack'>>(`
    select
      (select count(*)::int from order_changes) as committed,
      d.delivered, d."byA", d."byB", d."takenOver",
      o.pending, o.dead, o."failedTries"
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
        count(*) filter (where dead_at is not null)::int as dead,
        coalesce(sum(attempts), 0)::int as "failedTries"
      from outbox
    ) o`);
  const [counters] = rows;
  if (!counters) throw new Error('a query of aggregates gives one row');
  return { ...counters, rolledBack };
}

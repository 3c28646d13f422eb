import type pg from 'pg';

/** One line of the closing table. Without `holds` it is a figure that may be anything. */
export interface Finding {
  readonly name: string;
  readonly count: number;
  readonly holds?: boolean;
  readonly note: string;
}

/** `first_arrivals`: a message that came twice counts where it came first. */
const QUERY = `
  with first_arrivals as (
    select message_id, order_id, step, min(arrival) as arrival, count(*)::int as times
    from deliveries
    group by message_id, order_id, step
  )
  select
    (select count(*)::int from order_changes) as committed,
    (select count(*)::int from first_arrivals) as delivered,
    (select count(*)::int from first_arrivals f
      where not exists (select from order_changes c where c.message_id = f.message_id)) as phantoms,
    (select count(*)::int from order_changes c
      where not exists (select from first_arrivals f where f.message_id = c.message_id)) as lost,
    (select count(*)::int from first_arrivals earlier
      join first_arrivals later on later.order_id = earlier.order_id and later.step > earlier.step
      where later.arrival < earlier.arrival) as "outOfOrder",
    (select count(*)::int from outbox where id = any($1)) as "rolledBackRows",
    (select count(*)::int from outbox where dispatched_at is null) as unfinished,
    (select count(*)::int from replays) as replayed,
    (select count(*)::int from replays r
      where exists (select from deliveries d where d.message_id = r.message_id and d.arrival > r.after_arrival)) as "replayedDelivered",
    (select coalesce(sum(times - 1), 0)::int from first_arrivals) as repeated,
    (select count(*)::int from deliveries d join first_arrivals f using (message_id)
      where d.arrival > f.arrival and d.is_taken_over) as "repeatedTakenOver"`;

type Found = Record<
  | 'committed'
  | 'delivered'
  | 'phantoms'
  | 'lost'
  | 'outOfOrder'
  | 'rolledBackRows'
  | 'unfinished'
  | 'replayed'
  | 'replayedDelivered'
  | 'repeated'
  | 'repeatedTakenOver',
  number
>;

/** Compares what was committed with what arrived, in the database itself. */
export async function prove(pool: pg.Pool, rolledBack: readonly string[]): Promise<Finding[]> {
  const { rows } = await pool.query<Found>(QUERY, [rolledBack]);
  const [found] = rows;
  if (!found) throw new Error('a query of aggregates gives one row');
  return [
    { name: 'order changes committed', count: found.committed, holds: found.committed > 0, note: '' },
    {
      name: 'messages delivered',
      count: found.delivered,
      holds: found.delivered === found.committed,
      note: 'as many as were committed',
    },
    zero('phantoms', found.phantoms, 'delivered, but never committed'),
    zero('lost', found.lost, 'committed, but never delivered'),
    zero('out of order', found.outOfOrder, 'overtaken by a later step of its order'),
    zero('rolled back, yet stored', found.rolledBackRows, `of ${rolledBack.length} transactions rolled back`),
    zero('still pending or dead', found.unfinished, 'nothing is left to do'),
    {
      name: 'dead, then replayed',
      count: found.replayedDelivered,
      holds: found.replayed === 1 && found.replayedDelivered === 1,
      note: 'kept, and delivered after its replay',
    },
    { name: 'delivered again', count: found.repeated, note: whyRepeated(found) },
  ];
}

export function allHold(findings: readonly Finding[]): boolean {
  return findings.every(({ holds }) => holds !== false);
}

function zero(name: string, count: number, note: string): Finding {
  return { name, count, holds: count === 0, note };
}

/** A duplicate is allowed, after a crash or an expired claim; the receiver knows it by its id. */
function whyRepeated({ repeated, repeatedTakenOver }: Found): string {
  if (repeated === 0) return 'all that A had published was recorded';
  const others = repeated - repeatedTakenOver;
  const slow = others > 0 ? `; ${others} after a publish that took too long` : '';
  return `same id: A died before recording them${slow}`;
}

import type { OutboxStore } from '@postcommit/core';
import type pg from 'pg';

/** Prints how far it is, once a second. */
export function watch(store: OutboxStore): () => void {
  const timer = setInterval(() => {
    void store.count().then(({ pending, dispatched, dead }) => {
      console.log(`  pending ${pending}, dispatched ${dispatched}, dead ${dead}`);
    });
  }, 1_000);
  return () => clearInterval(timer);
}

/** Compares what was committed with what arrived, in the database itself. */
export async function proof(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<Record<string, number>>(`
    select
      (select count(*)::int from orders) as committed,
      (select count(distinct order_id)::int from broker) as delivered,
      (select count(distinct message_id)::int from broker b where not exists (select from orders where id = b.order_id)) as phantoms,
      (select count(*)::int from orders o where not exists (select from broker where order_id = o.id)) as lost,
      (select count(*)::int - count(distinct message_id)::int from broker) as repeated,
      (select count(distinct dispatcher)::int from broker) as dispatchers`);
  const [found = {}] = rows;
  console.table({
    'orders committed': found.committed,
    'messages delivered': found.delivered,
    'phantoms (delivered, never committed)': found.phantoms,
    'lost (committed, never delivered)': found.lost,
    'delivered again after the kill, same id': found.repeated,
    'dispatchers that took part': found.dispatchers,
  });
  return found.committed === found.delivered && found.phantoms === 0 && found.lost === 0;
}

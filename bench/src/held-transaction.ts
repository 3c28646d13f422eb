import pg from 'pg';
import type { Place } from './subject.js';

/** Runs work while a transaction elsewhere holds back vacuum, as a forgotten session or a long report does. */
export async function withHeldTransaction<T>(
  { url }: Place,
  isHeld: boolean,
  work: () => Promise<T>,
): Promise<T> {
  if (!isHeld) return work();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read');
    // A number of its own: from here on nothing that dies may be removed.
    await client.query('select pg_current_xact_id()');
    return await work();
  } finally {
    await client.end();
  }
}

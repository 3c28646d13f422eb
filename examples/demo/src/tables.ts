import { createOutbox } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';

/**
 * `order_changes` is the business side, written in the same transactions as the outbox. `deliveries` is the ledger of
 * the world outside: what arrived at the broker, in the order it arrived. The proof compares the two.
 */
const TABLES = `
  create table order_changes (
    order_id text not null,
    step int not null,
    message_id text not null,
    primary key (order_id, step)
  );
  create table broker (is_down boolean not null, refused_topic text);
  insert into broker values (false, 'order.gift-wrapped');
  create table deliveries (
    arrival bigint generated always as identity primary key,
    message_id text not null,
    order_id text not null,
    step int not null,
    dispatcher text not null,
    is_taken_over boolean not null
  );
  create index on deliveries (message_id);
  create table replays (message_id text not null, dead_reason text not null, attempts int not null, after_arrival bigint not null);
`;

export function connect(connectionString: string): pg.Pool {
  return new pg.Pool({ connectionString });
}

export async function createTables(pool: pg.Pool): Promise<void> {
  await createOutbox({ store: pgStore(pool), worker: false, logger: false }).migrate();
  await pool.query(TABLES);
}

import type { TableName } from '../table-name.js';
import type { SideTable } from '../table-origin.js';
import { NOW } from './columns.js';

const CREATE: Readonly<Record<SideTable, (table: TableName) => string[]>> = {
  _locks: (table) => [
    `create table if not exists ${table.quoted('_locks')} (
  "name" text not null primary key,
  "token" text not null,
  "locked_until" integer not null
) strict`,
  ],
  _processed: (table) => [
    `create table if not exists ${table.quoted('_processed')} (
  "consumer" text not null,
  "row_id" text not null,
  "processed_at" integer not null default (${NOW}),
  primary key ("consumer", "row_id")
) strict`,
    `create index if not exists ${table.quoted('_processed_at')} on ${table.part('_processed')} ("processed_at")`,
  ],
  _workers: (table) => [
    `create table if not exists ${table.quoted('_workers')} (
  "id" text not null primary key,
  "host" text not null,
  "pid" integer not null,
  "version" text not null,
  "started_at" integer not null,
  "last_seen" integer not null,
  "takeover_ms" integer not null,
  "rows_in_flight" integer not null,
  "is_listening" integer not null,
  "outages" text not null,
  "lost_at" integer
) strict`,
  ],
  _paused: (table) => [
    `create table if not exists ${table.quoted('_paused')} (
  "topic" text not null primary key,
  "paused_at" integer not null default (${NOW})
) strict`,
  ],
};

/** Every statement is idempotent. */
export function createSideTable(table: TableName, suffix: SideTable): string[] {
  return CREATE[suffix](table);
}

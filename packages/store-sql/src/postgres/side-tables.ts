import type { TableName } from '../table-name.js';
import type { SideTable } from '../table-origin.js';

const CREATE: Readonly<Record<SideTable, (table: TableName) => string[]>> = {
  _locks: (table) => [
    `create table if not exists ${table.quoted('_locks')} (
  "name" character varying(255) primary key,
  "token" character varying(36) not null,
  "locked_until" timestamp with time zone not null
)`,
  ],
  _processed: (table) => [
    `create table if not exists ${table.quoted('_processed')} (
  "consumer" character varying(255) not null,
  "row_id" character varying(36) not null,
  "processed_at" timestamp with time zone not null default now(),
  primary key ("consumer", "row_id")
)`,
    `create index if not exists ${table.part('_processed_at')} on ${table.quoted('_processed')} ("processed_at")`,
  ],
  _workers: (table) => [
    `create table if not exists ${table.quoted('_workers')} (
  "id" character varying(24) primary key,
  "host" character varying(255) not null,
  "pid" integer not null,
  "version" character varying(255) not null,
  "started_at" timestamp with time zone not null,
  "last_seen" timestamp with time zone not null,
  "takeover_ms" integer not null,
  "rows_in_flight" integer not null,
  "is_listening" boolean not null,
  "outages" text not null,
  "lost_at" timestamp with time zone
)`,
  ],
  _paused: (table) => [
    `create table if not exists ${table.quoted('_paused')} (
  "topic" character varying(255) primary key,
  "paused_at" timestamp with time zone not null default now()
)`,
  ],
};

/** Every statement is idempotent. */
export function createSideTable(table: TableName, suffix: SideTable): string[] {
  return CREATE[suffix](table);
}

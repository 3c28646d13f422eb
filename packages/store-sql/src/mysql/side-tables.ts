import type { TableName } from '../table-name.js';
import type { SideTable } from '../table-origin.js';
import { EXACT, NOW, TABLE_OPTIONS, TIME } from './columns.js';

const CREATE: Readonly<Record<SideTable, (table: TableName) => string>> = {
  _locks: (table) => `create table if not exists ${table.quoted('_locks')} (
  \`name\` varchar(255) ${EXACT} not null,
  \`token\` varchar(36) not null,
  \`locked_until\` ${TIME} not null,
  primary key (\`name\`)
) ${TABLE_OPTIONS}`,
  _processed: (table) => `create table if not exists ${table.quoted('_processed')} (
  \`consumer\` varchar(255) ${EXACT} not null,
  \`row_id\` varchar(36) ${EXACT} not null,
  \`processed_at\` ${TIME} not null default (${NOW}),
  primary key (\`consumer\`, \`row_id\`),
  key ${table.part('_processed_at')} (\`processed_at\`)
) ${TABLE_OPTIONS}`,
  _workers: (table) => `create table if not exists ${table.quoted('_workers')} (
  \`id\` varchar(24) ${EXACT} not null,
  \`host\` varchar(255) not null,
  \`pid\` int not null,
  \`version\` varchar(255) not null,
  \`started_at\` ${TIME} not null,
  \`last_seen\` ${TIME} not null,
  \`takeover_ms\` int not null,
  \`rows_in_flight\` int not null,
  \`is_listening\` boolean not null,
  \`outages\` mediumtext not null,
  \`lost_at\` ${TIME},
  primary key (\`id\`)
) ${TABLE_OPTIONS}`,
  _paused: (table) => `create table if not exists ${table.quoted('_paused')} (
  \`topic\` varchar(255) ${EXACT} not null,
  \`paused_at\` ${TIME} not null default (${NOW}),
  primary key (\`topic\`)
) ${TABLE_OPTIONS}`,
};

/** Idempotent. */
export function createSideTable(table: TableName, suffix: SideTable): string[] {
  return [CREATE[suffix](table)];
}

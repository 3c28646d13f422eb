import type { TableOptions } from '@postcommit/store-sql';
import { EntitySchema, type EntitySchemaColumnOptions, type ValueTransformer } from 'typeorm';
import { jsonText, placeOf } from './entity-parts.js';

/** The column types of a database. */
export interface ColumnTypes {
  readonly text: EntitySchemaColumnOptions;
  readonly integer: EntitySchemaColumnOptions;
  readonly boolean: EntitySchemaColumnOptions;
  readonly time: EntitySchemaColumnOptions;
  readonly json: EntitySchemaColumnOptions;
  readonly seq: EntitySchemaColumnOptions;
}

const milliseconds: ValueTransformer = {
  to: (time?: Date | null) => time?.getTime() ?? time,
  from: (ms: number | null) => (ms === null ? null : new Date(ms)),
};

const numberText: ValueTransformer = { to: (seq: string) => seq, from: String };

export const SQLITE_TYPES: ColumnTypes = {
  text: { type: 'text' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  time: { type: 'integer', transformer: milliseconds },
  json: { type: 'text', transformer: jsonText },
  seq: { type: 'integer', transformer: numberText },
};

/** A `datetime` has no time zone: without `timezone: 'Z'` in the data source, the driver reads it as local time. */
export const MYSQL_TYPES: ColumnTypes = {
  text: { type: 'varchar' },
  integer: { type: 'int' },
  boolean: { type: 'boolean' },
  time: { type: 'datetime', precision: 6 },
  json: { type: 'longtext', transformer: jsonText },
  seq: { type: 'bigint' },
};

type Columns = Readonly<Record<string, keyof ColumnTypes>>;

const OUTBOX: Columns = {
  id: 'text',
  topic: 'text',
  payload: 'json',
  key: 'text',
  headers: 'json',
  createdAt: 'time',
  availableAt: 'time',
  dispatchedAt: 'time',
  deadAt: 'time',
  deadReason: 'text',
  attempts: 'integer',
  retakes: 'integer',
  lastError: 'text',
  claimToken: 'text',
  claimedAt: 'time',
  claimedUntil: 'time',
  claimedKey: 'text',
  maxAttempts: 'integer',
  backoff: 'json',
  seq: 'seq',
};
const LOCKS: Columns = { name: 'text', token: 'text', lockedUntil: 'time' };
const PROCESSED: Columns = { consumer: 'text', rowId: 'text', processedAt: 'time' };
const WORKERS: Columns = {
  id: 'text',
  host: 'text',
  pid: 'integer',
  version: 'text',
  startedAt: 'time',
  lastSeen: 'time',
  takeoverMs: 'integer',
  rowsInFlight: 'integer',
  isListening: 'boolean',
  outages: 'json',
  lostAt: 'time',
};
const PAUSED: Columns = { topic: 'text', pausedAt: 'time' };

/**
 * The entities of all tables, for your queries, with the same records as on PostgreSQL. TypeORM can't describe all
 * that these databases need, so `synchronize` and generated migrations skip the tables: `OutboxSchema` creates them.
 */
export function portableEntities(types: ColumnTypes, options: TableOptions): EntitySchema[] {
  return [
    entity(types, placeOf(options), OUTBOX, ['id']),
    entity(types, placeOf(options, '_locks'), LOCKS, ['name']),
    entity(types, placeOf(options, '_processed'), PROCESSED, ['consumer', 'rowId']),
    entity(types, placeOf(options, '_workers'), WORKERS, ['id']),
    entity(types, placeOf(options, '_paused'), PAUSED, ['topic']),
  ];
}

function entity(
  types: ColumnTypes,
  { name, tableName, schema }: ReturnType<typeof placeOf>,
  columns: Columns,
  primary: readonly string[],
): EntitySchema {
  const described = Object.entries(columns).map(([property, type]) => [
    property,
    { ...types[type], name: columnName(property), primary: primary.includes(property) },
  ]);
  return new EntitySchema({
    name,
    tableName,
    // TypeORM calls a MySQL schema a database.
    ...(schema !== undefined && { database: schema }),
    synchronize: false,
    columns: Object.fromEntries(described),
  });
}

/** `createdAt` becomes `created_at`. */
function columnName(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

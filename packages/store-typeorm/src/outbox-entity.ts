import { TableName, type TableOptions } from '@postcommit/store-sql';
import { EntitySchema, type EntitySchemaColumnOptions } from 'typeorm';

/** A record of the outbox table, for your queries. Change rows through the store only. */
export interface OutboxRecord {
  id: string;
  topic: string;
  payload: unknown;
  key: string | null;
  headers: Record<string, string> | null;
  createdAt: Date;
  availableAt: Date;
  dispatchedAt: Date | null;
  deadAt: Date | null;
  deadReason: string | null;
  attempts: number;
  retakes: number;
  lastError: string | null;
  claimToken: string | null;
  claimedAt: Date | null;
  claimedUntil: Date | null;
  claimedKey: string | null;
  maxAttempts: number | null;
  backoff: unknown;
  /** A bigint, which drivers return as text. */
  seq: string;
}

/** A held job lock. */
export interface OutboxLockRecord {
  name: string;
  token: string;
  lockedUntil: Date;
}

/** A message that a consumer has processed. */
export interface OutboxProcessedRecord {
  consumer: string;
  rowId: string;
  processedAt: Date;
}

/** An entity schema supports `identity` at run time, as decorators do; only its type omits it. */
const IDENTITY = 'identity' as 'increment';

const ENTITY_NAMES = { '': 'Outbox', _locks: 'OutboxLock', _processed: 'OutboxProcessed' };

const PENDING = 'dispatched_at is null and dead_at is null';

/**
 * The outbox table on PostgreSQL, exactly as `OutboxSchema` creates it: `synchronize` and generated migrations drop
 * whatever an entity does not name.
 */
export function outboxEntity(options: TableOptions = {}): EntitySchema<OutboxRecord> {
  const { table, ...place } = placeOf(options);
  return new EntitySchema<OutboxRecord>({
    ...place,
    columns: {
      id: {
        ...varchar(36),
        primary: true,
        primaryKeyConstraintName: `${table}_pkey`,
        comment: 'Postcommit outbox, schema version 1',
      },
      topic: varchar(255),
      payload: { type: 'jsonb', nullable: true },
      key: { ...varchar(255), nullable: true },
      headers: { type: 'jsonb', nullable: true },
      createdAt: { ...time('created_at'), default: () => 'now()' },
      availableAt: { ...time('available_at'), default: () => 'now()' },
      dispatchedAt: { ...time('dispatched_at'), nullable: true },
      deadAt: { ...time('dead_at'), nullable: true },
      deadReason: { ...varchar(20, 'dead_reason'), nullable: true },
      attempts: { type: 'integer', default: 0 },
      retakes: { type: 'integer', default: 0 },
      lastError: { type: 'text', name: 'last_error', nullable: true },
      claimToken: { ...varchar(36, 'claim_token'), nullable: true },
      claimedAt: { ...time('claimed_at'), nullable: true },
      claimedUntil: { ...time('claimed_until'), nullable: true },
      claimedKey: { ...varchar(255, 'claimed_key'), nullable: true },
      maxAttempts: { type: 'integer', name: 'max_attempts', nullable: true },
      backoff: { type: 'jsonb', nullable: true },
      seq: { type: 'bigint', generated: IDENTITY },
    },
    indices: [
      { name: `${table}_due`, columns: ['availableAt', 'seq'], where: `${PENDING} and key is null` },
      {
        name: `${table}_keyed_due`,
        columns: ['availableAt', 'seq'],
        where: `${PENDING} and key is not null`,
      },
      { name: `${table}_keyed`, columns: ['key', 'seq'], where: `${PENDING} and key is not null` },
      { name: `${table}_claimed_key`, columns: ['claimedKey'], where: 'claimed_key is not null' },
      { name: `${table}_dispatched`, columns: ['dispatchedAt'], where: 'dispatched_at is not null' },
      { name: `${table}_dead`, columns: ['deadAt'], where: 'dead_at is not null' },
    ],
    checks: [
      {
        name: `${table}_claim_check`,
        expression:
          '(claim_token is null) = (claimed_at is null) and (claim_token is null) = (claimed_until is null)',
      },
      { name: `${table}_state_check`, expression: 'dispatched_at is null or dead_at is null' },
    ],
  });
}

/** The job locks, in `outbox_locks`. */
export function outboxLocksEntity(options: TableOptions = {}): EntitySchema<OutboxLockRecord> {
  const { table, ...place } = placeOf(options, '_locks');
  return new EntitySchema<OutboxLockRecord>({
    ...place,
    columns: {
      name: { ...varchar(255), primary: true, primaryKeyConstraintName: `${table}_pkey` },
      token: varchar(36),
      lockedUntil: time('locked_until'),
    },
  });
}

/** The messages that consumers have processed, in `outbox_processed`. */
export function outboxProcessedEntity(options: TableOptions = {}): EntitySchema<OutboxProcessedRecord> {
  const { table, ...place } = placeOf(options, '_processed');
  return new EntitySchema<OutboxProcessedRecord>({
    ...place,
    columns: {
      consumer: { ...varchar(255), primary: true, primaryKeyConstraintName: `${table}_pkey` },
      rowId: { ...varchar(36, 'row_id'), primary: true, primaryKeyConstraintName: `${table}_pkey` },
      processedAt: { ...time('processed_at'), default: () => 'now()' },
    },
    indices: [{ name: `${table}_at`, columns: ['processedAt'] }],
  });
}

/** The entities of all three tables. */
export function postgresEntities(options: TableOptions = {}): EntitySchema[] {
  return [outboxEntity(options), outboxLocksEntity(options), outboxProcessedEntity(options)];
}

/** The outbox table under its default name, on PostgreSQL. */
export const OutboxEntity: EntitySchema<OutboxRecord> = outboxEntity();

/** The entities of all three tables under their default names, on PostgreSQL: `entities: [Order, ...outboxEntities]`. */
export const outboxEntities: readonly EntitySchema[] = [
  OutboxEntity,
  outboxLocksEntity(),
  outboxProcessedEntity(),
];

/** Entity names must be unique within a data source, so entities of a table with another name include that name. */
export function placeOf(
  options: TableOptions,
  suffix: keyof typeof ENTITY_NAMES = '',
): { table: string; name: string; tableName: string; schema?: string } {
  const { table, schema } = new TableName(options);
  const isDefault = table === 'outbox' && schema === undefined;
  const name = ENTITY_NAMES[suffix];
  return {
    table: `${table}${suffix}`,
    name: isDefault ? name : `${name} ${[schema, table].filter(Boolean).join('.')}`,
    tableName: `${table}${suffix}`,
    ...(schema !== undefined && { schema }),
  };
}

function varchar(length: number, name?: string): EntitySchemaColumnOptions {
  return { type: 'character varying', length, ...(name !== undefined && { name }) };
}

function time(name: string): EntitySchemaColumnOptions {
  return { type: 'timestamp with time zone', name };
}

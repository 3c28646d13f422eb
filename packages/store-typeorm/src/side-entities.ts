import type { TableOptions } from '@postcommit/store-sql';
import { EntitySchema } from 'typeorm';
import { jsonText, placeOf, time, varchar } from './entity-parts.js';

/** A held job lock. */
interface OutboxLockRecord {
  name: string;
  token: string;
  lockedUntil: Date;
}

/** A message that a consumer has processed. */
interface OutboxProcessedRecord {
  consumer: string;
  rowId: string;
  processedAt: Date;
}

/** A running worker. */
interface OutboxWorkerRecord {
  id: string;
  host: string;
  pid: number;
  version: string;
  startedAt: Date;
  lastSeen: Date;
  takeoverMs: number;
  rowsInFlight: number;
  isListening: boolean;
  outages: unknown;
  lostAt: Date | null;
}

/** A topic that is paused. */
interface OutboxPausedRecord {
  topic: string;
  pausedAt: Date;
}

/** The tables beside the outbox on PostgreSQL, exactly as `OutboxSchema` creates them. */
export function sideEntities(options: TableOptions = {}): EntitySchema[] {
  return [locksEntity(options), processedEntity(options), workersEntity(options), pausedEntity(options)];
}

function locksEntity(options: TableOptions): EntitySchema<OutboxLockRecord> {
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

function processedEntity(options: TableOptions): EntitySchema<OutboxProcessedRecord> {
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

function workersEntity(options: TableOptions): EntitySchema<OutboxWorkerRecord> {
  const { table, ...place } = placeOf(options, '_workers');
  return new EntitySchema<OutboxWorkerRecord>({
    ...place,
    columns: {
      id: { ...varchar(24), primary: true, primaryKeyConstraintName: `${table}_pkey` },
      host: varchar(255),
      pid: { type: 'integer' },
      version: varchar(255),
      startedAt: time('started_at'),
      lastSeen: time('last_seen'),
      takeoverMs: { type: 'integer', name: 'takeover_ms' },
      rowsInFlight: { type: 'integer', name: 'rows_in_flight' },
      isListening: { type: 'boolean', name: 'is_listening' },
      outages: { type: 'text', transformer: jsonText },
      lostAt: { ...time('lost_at'), nullable: true },
    },
  });
}

function pausedEntity(options: TableOptions): EntitySchema<OutboxPausedRecord> {
  const { table, ...place } = placeOf(options, '_paused');
  return new EntitySchema<OutboxPausedRecord>({
    ...place,
    columns: {
      topic: { ...varchar(255), primary: true, primaryKeyConstraintName: `${table}_pkey` },
      pausedAt: { ...time('paused_at'), default: () => 'now()' },
    },
  });
}

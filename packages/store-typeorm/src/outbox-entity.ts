import type { TableOptions } from '@postcommit/store-sql';
import { EntitySchema } from 'typeorm';
import { placeOf, time, varchar } from './entity-parts.js';
import { sideEntities } from './side-entities.js';

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

/** An entity schema supports `identity` at run time, as decorators do; only its type omits it. */
const IDENTITY = 'identity' as 'increment';

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
        comment: 'Postcommit outbox, schema version 2',
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

/** The entities of all tables. */
export function postgresEntities(options: TableOptions = {}): EntitySchema[] {
  return [outboxEntity(options), ...sideEntities(options)];
}

/** The outbox table under its default name, on PostgreSQL. */
export const OutboxEntity: EntitySchema<OutboxRecord> = outboxEntity();

/** The entities of all tables under their default names, on PostgreSQL: `entities: [Order, ...outboxEntities]`. */
export const outboxEntities: readonly EntitySchema[] = [OutboxEntity, ...sideEntities()];

import { TableName, type TableOptions } from '@postcommit/store-sql';
import type { EntitySchemaColumnOptions, ValueTransformer } from 'typeorm';

const ENTITY_NAMES = {
  '': 'Outbox',
  _locks: 'OutboxLock',
  _processed: 'OutboxProcessed',
  _workers: 'OutboxWorker',
  _paused: 'OutboxPaused',
};

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

export function varchar(length: number, name?: string): EntitySchemaColumnOptions {
  return { type: 'character varying', length, ...(name !== undefined && { name }) };
}

export function time(name: string): EntitySchemaColumnOptions {
  return { type: 'timestamp with time zone', name };
}

/** For a column of text that holds JSON. */
export const jsonText: ValueTransformer = {
  to: (value: unknown) => (value === undefined ? undefined : JSON.stringify(value)),
  from: (text: string | null) => (text === null ? null : JSON.parse(text)),
};

import { TableName } from '@postcommit/store-sql';
import { describe, expect, it } from 'vitest';

describe('TableName', () => {
  it('defaults to outbox, found by the search path', () => {
    expect(new TableName().sql).toBe('"outbox"');
    expect(new TableName({ schema: 'app' }).sql).toBe('"app"."outbox"');
  });

  it('quotes the names of side tables and indexes, in the schema of the table', () => {
    expect(new TableName({ table: 'Order', schema: 'App' }).quoted('_locks')).toBe('"App"."Order_locks"');
    expect(new TableName().quoted('_locks')).toBe('"outbox_locks"');
  });

  it.each(['a', '_', 'A1', 'order', 'x'.repeat(40)])('accepts %s', (table) => {
    expect(new TableName({ table, schema: table }).sql).toBe(`"${table}"."${table}"`);
  });

  it.each([
    '',
    ' ',
    '1a',
    'a-b',
    'a b',
    'a.b',
    'a"b',
    "a'b",
    'a;drop table users',
    'a\n',
    'a\0',
    'ä',
    'x'.repeat(41),
    null,
    7,
    {},
  ])('refuses %j as a table and as a schema', (name) => {
    const bad = name as string;
    const refused = expect.objectContaining({ code: 'INVALID_CONFIG' });
    expect(() => new TableName({ table: bad })).toThrow(refused);
    expect(() => new TableName({ schema: bad })).toThrow(refused);
  });
});

import type { NewRow } from '@postcommit/core';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { list, NOW, utcText } from './columns.js';

type Cell = (row: NewRow) => string | number | undefined;

const CELLS: ReadonlyArray<readonly [column: string, cell: Cell]> = [
  ['id', ({ id }) => id],
  ['topic', ({ topic }) => topic],
  ['payload', ({ payload }) => payload],
  ['`key`', ({ key }) => key],
  ['headers', ({ headers }) => headers && JSON.stringify(headers)],
  ['available_at', ({ availableAt }) => availableAt && utcText(availableAt)],
  ['max_attempts', ({ maxAttempts }) => maxAttempts],
  ['backoff', ({ backoff }) => backoff && JSON.stringify(backoff)],
];

/** Omits columns that no row uses. The server numbers the rows of one statement in their order. */
export function insert(table: TableName, rows: readonly NewRow[]): SqlStatement {
  const given = CELLS.filter(([, cell]) => rows.some((row) => cell(row) !== undefined));
  const hasTimes = given.some(([column]) => column === 'available_at');
  const columns = [...given.map(([column]) => column), 'created_at', ...(hasTimes ? [] : ['available_at'])];
  const values: unknown[] = [];
  const tuples = rows.map((row) => {
    const cells = given.map(([column, cell]) => {
      const value = cell(row);
      if (value === undefined && column === 'available_at') return NOW;
      values.push(value ?? null);
      return '?';
    });
    return `(${[...cells, NOW, ...(hasTimes ? [] : [NOW])].join(', ')})`;
  });
  return { text: `insert into ${table.sql} (${columns.join(', ')}) values ${tuples.join(', ')}`, values };
}

export function findExisting(table: TableName, ids: readonly string[]): SqlStatement {
  return { text: `select id from ${table.sql} where id in (${list(ids)}) limit 1`, values: [...ids] };
}

import type { Difference } from '../capability-statements.js';
import { nameInText, quoteName, type TableName } from '../table-name.js';
import type { Catalog, Sequence } from './describe-table.js';

/** Finds structural problems that break the outbox even if every column and index is right. */
export function structureDifferences(table: TableName, catalog: Catalog): Difference[] {
  return [
    ...childrenDifference(table, catalog),
    ...partitionDifference(table, catalog),
    ...catalog.sequences.flatMap(cacheDifference),
    ...rowSecurityDifference(table, catalog.roleWithHiddenRows),
  ];
}

/** With inheritance, `id` is unique within each table but not across them. */
function childrenDifference(table: TableName, { kind, hasChildren }: Catalog): Difference[] {
  if (kind !== 'r' || !hasChildren) return [];
  return [
    byHand(
      `table ${table.sql} has tables that inherit from it, in which an id may exist twice: detach them`,
      [`-- for each of them: alter table … no inherit ${table.sql}`],
    ),
  ];
}

/** A unique index must contain the partition key, so `id` can be unique only if it is that key. */
function partitionDifference(table: TableName, { partitionColumns }: Catalog): Difference[] {
  if (partitionColumns === undefined || partitionColumns.every((name) => name === 'id')) return [];
  const key = partitionColumns.map((name) => (name === null ? 'an expression' : nameInText(name))).join(', ');
  return [
    byHand(
      `table ${table.sql} is partitioned by ${key}, so id can't be unique: use a table without partitions, or partition by hash (id)`,
      ["-- the partition key of a table can't be changed: create a new table and copy the rows"],
    ),
  ];
}

/** Sessions that cache sequence numbers store the rows of one key out of order. */
function cacheDifference({ schema, name, cache }: Sequence): Difference[] {
  if (cache === '1') return [];
  const sequence = `${quoteName(schema)}.${quoteName(name)}`;
  return [
    {
      level: 'required',
      problem: `sequence ${sequence} of column seq has a cache of ${cache}, which breaks the order of keys; open sessions keep their cache until they end`,
      statements: [`alter sequence ${sequence} cache 1`],
    },
  ];
}

/**
 * Never fixed by `ensure`: who may see which rows is a human decision. The SQL comment leaves the role out, since a line
 * break in its name would end the comment.
 */
function rowSecurityDifference(table: TableName, role: string | undefined): Difference[] {
  if (role === undefined) return [];
  const name = quoteName(role);
  return [
    byHand(`row-level security hides rows of ${table.sql} from role ${name}: they would never be published`, [
      `create policy ${table.part('_worker')} on ${table.sql} to ${name} using (true) with check (true)`,
      `-- or, where a restrictive policy hides them: alter role … bypassrls`,
    ]),
  ];
}

function byHand(problem: string, statements: readonly string[]): Difference {
  return { level: 'required', problem, statements, isByHand: true };
}

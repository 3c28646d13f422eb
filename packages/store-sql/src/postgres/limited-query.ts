import type { SqlRecord, SqlStatement } from '../sql-statement.js';
import { limitStatements } from './statement-limit.js';

const SET_LIMIT = `select ${limitStatements('$1')}`;

/** The part of a connection of `pg` that a query writes to. */
interface PgConnection {
  parse(message: { text: string; name: string; types: readonly number[] }): void;
  bind(message: { portal: string; statement: string; values: unknown[]; binary: boolean }): void;
  execute(message: { portal: string; rows: number }): void;
}

/** The part of a query of `pg` that is changed. */
interface PgQueryObject {
  prepare(connection: PgConnection): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: PgConnection): void;
}

type Callback = (error: Error | null, result: { rows: SqlRecord[] }) => void;
type PgQueryClass = new (
  config: { text: string; values: unknown[]; queryMode: 'extended' },
  values: undefined,
  callback: Callback,
) => PgQueryObject;

/**
 * Runs a statement with a limit that the server enforces, in one round trip. A statement can't set its own limit, and two
 * statements with parameters can't be sent as one text; but before its Sync, the extended protocol takes any number, and
 * runs them as one transaction. So the limit is set in front of the statement, and ends with it.
 *
 * Returns undefined for a client whose queries can't be extended this way, e.g. one of `pg-native`.
 */
export function limitedPgQuery(
  client: { query(query: never): unknown },
  { text, values }: SqlStatement,
  serverMs: number,
): Promise<SqlRecord[]> | undefined {
  const Query = queryClassOf(client);
  if (!Query) return undefined;
  return new Promise((resolve, reject) => {
    const callback: Callback = (error, result) => (error ? reject(error) : resolve(result.rows));
    const query = new Query({ text, values: [...values], queryMode: 'extended' }, undefined, callback);
    client.query(withLimit(query, serverMs) as never);
  });
}

function queryClassOf(client: object): PgQueryClass | undefined {
  const Query: unknown = Reflect.get(client.constructor, 'Query');
  if (
    typeof Query !== 'function' ||
    !hasMethods(Query.prototype, 'prepare', 'handleDataRow', 'handleCommandComplete')
  )
    return undefined;
  const isOpen = hasMethods(Reflect.get(client, 'connection'), 'parse', 'bind', 'execute');
  return isOpen ? (Query as PgQueryClass) : undefined;
}

function hasMethods(value: unknown, ...names: string[]): boolean {
  return value instanceof Object && names.every((name) => typeof Reflect.get(value, name) === 'function');
}

/** The answer to the first statement is not the query's. */
function withLimit(query: PgQueryObject, serverMs: number): PgQueryObject {
  const { prepare, handleDataRow, handleCommandComplete } = query;
  let isSet = false;
  query.prepare = (connection) => {
    connection.parse({ text: SET_LIMIT, name: '', types: [] });
    connection.bind({ portal: '', statement: '', values: [String(serverMs)], binary: false });
    connection.execute({ portal: '', rows: 0 });
    prepare.call(query, connection);
  };
  query.handleDataRow = (message) => {
    if (isSet) handleDataRow.call(query, message);
  };
  query.handleCommandComplete = (message, connection) => {
    if (isSet) handleCommandComplete.call(query, message, connection);
    isSet = true;
  };
  return query;
}

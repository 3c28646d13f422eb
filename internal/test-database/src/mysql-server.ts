import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { databasePrefix } from './database-server.js';

/** Where a MariaDB or MySQL usually listens, without a password: as on the development machines. */
const USUAL_URL = 'mysql://root@127.0.0.1:3306';
const CONNECT_MS = 2_000;
const DROP_SECONDS = 2;

/** MYSQL_URL, which must then answer, or the usual one if it does; undefined where there is none. */
export async function findMysql(given = process.env.MYSQL_URL): Promise<string | undefined> {
  if (given) {
    await withConnection(given, async () => {});
    return given;
  }
  return withConnection(USUAL_URL, async () => {}).then(
    () => USUAL_URL,
    () => undefined,
  );
}

/** Uses a case-insensitive collation, as most servers do: the tables must distinguish what matters. */
export async function createMysqlDatabase(serverUrl: string, name: string): Promise<void> {
  await withConnection(serverUrl, ({ run }) =>
    run(`create database \`${name}\` character set utf8mb4 collate utf8mb4_general_ci`),
  );
}

export async function dropMysqlDatabase(serverUrl: string, name: string): Promise<void> {
  await withConnection(serverUrl, (server) => drop(server, name));
}

export async function dropMysqlDatabasesOf(serverUrl: string, run: string): Promise<void> {
  await withConnection(serverUrl, async (server) => {
    const found = await server.run(
      'select schema_name as name from information_schema.schemata where locate(?, schema_name) = 1',
      [databasePrefix(run)],
    );
    for (const { name } of found) await drop(server, String(name));
  });
}

/** Never lets a parser's error out: Node's carries the whole url, with its password. */
export function mysqlDatabaseUrl(serverUrl: string, name: string): string {
  if (!URL.canParse(serverUrl)) throw new Error('MYSQL_URL is not a url like mysql://user@host:3306.');
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

interface Server {
  run(text: string, values?: unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/** First waits for connections that are just ending, then kills the others: an open transaction would block it forever. */
async function drop(server: Server, name: string): Promise<void> {
  const text = `drop database if exists \`${name}\``;
  await server.run(`set lock_wait_timeout = ${DROP_SECONDS}`);
  await server.run(text).catch(async () => {
    const open = await server.run('select id from information_schema.processlist where db = ?', [name]);
    for (const { id } of open) await server.run(`kill ${Number(id)}`).catch(() => {});
    await server.run(text);
  });
}

async function withConnection(url: string, work: (server: Server) => Promise<unknown>): Promise<void> {
  const connection = await createConnection({ uri: mysqlDatabaseUrl(url, ''), connectTimeout: CONNECT_MS });
  try {
    await work({
      run: async (text, values = []) => {
        const [rows] = await connection.query<RowDataPacket[]>(text, values);
        return Array.isArray(rows) ? rows : [];
      },
    });
  } finally {
    await connection.end();
  }
}

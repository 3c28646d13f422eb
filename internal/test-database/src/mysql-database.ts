import { randomBytes } from 'node:crypto';
import { createMysqlDatabase, dropMysqlDatabase, findMysql, mysqlDatabaseUrl } from './mysql-server.js';

/** Whether there is a server for `openMysqlDatabase`. */
export async function usableMysql(): Promise<boolean> {
  return (await findMysql()) !== undefined;
}

/** An empty database on MYSQL_URL's server, or on the one that listens on the usual port, outside of tests. */
export async function openMysqlDatabase(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = await findMysql();
  if (server === undefined) throw new Error('No MariaDB or MySQL answers on port 3306: set MYSQL_URL.');
  const name = `postcommit_${randomBytes(6).toString('hex')}`;
  await createMysqlDatabase(server, name);
  return { url: mysqlDatabaseUrl(server, name), close: () => dropMysqlDatabase(server, name) };
}

import { randomBytes } from 'node:crypto';
import { describe, inject } from 'vitest';
import { databasePrefix } from './database-server.js';
import { createMysqlDatabase, dropMysqlDatabase, mysqlDatabaseUrl } from './mysql-server.js';
import type { TestDatabase } from './test-database.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** MYSQL_URL, or the server on the usual port; undefined where there is none. May hold a password: don't print it. */
    mysqlUrl: string | undefined;
  }
}

/** Part of the name of every test that is skipped for this reason: `.ci/run` looks for it. */
const REASON = 'no MariaDB or MySQL to run on';

/** Tests that need a MariaDB or MySQL; without one they are skipped, and say why. */
export function describeOnMysql(name: string, tests: () => void): void {
  if (inject('mysqlUrl') !== undefined) describe(name, tests);
  else describe.skip(`${name} (${REASON}: set MYSQL_URL)`, tests);
}

/** A new, empty database of its own. What a test does not drop is dropped at the end of the run. */
export async function createMysqlTestDatabase(): Promise<TestDatabase> {
  const server = inject('mysqlUrl');
  if (server === undefined) throw new Error(`There is ${REASON}: call this inside describeOnMysql only.`);
  const name = `${databasePrefix(inject('postgresRun'))}${randomBytes(6).toString('hex')}`;
  await createMysqlDatabase(server, name);
  return { url: mysqlDatabaseUrl(server, name), drop: () => dropMysqlDatabase(server, name) };
}

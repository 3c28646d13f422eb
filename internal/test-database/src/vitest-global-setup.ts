import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { databaseUrl, dropDatabasesOf } from './database-server.js';
import { dropMysqlDatabasesOf, findMysql } from './mysql-server.js';
import type {} from './mysql-test-database.js';
import { startPostgres } from './postgres.js';
import type {} from './test-database.js';

/** The servers of the whole vitest run. Nothing is left behind on those that are not ours. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const run = randomBytes(4).toString('hex');
  project.provide('postgresRun', run);
  const leaveMysql = await useMysql(project, run);
  const leavePostgres = await usePostgres(project, run);
  return async () => {
    await Promise.all([leaveMysql(), leavePostgres()]);
  };
}

/** One PostgreSQL, embedded, or the one of DATABASE_URL. */
async function usePostgres(project: TestProject, run: string): Promise<() => Promise<void>> {
  const given = process.env.DATABASE_URL;
  if (given) {
    databaseUrl(given, ''); // a bad url is reported once, here
    project.provide('postgresUrl', given);
    return () => dropDatabasesOf(given, run);
  }
  const server = await startPostgres();
  project.provide('postgresUrl', server.url);
  return () => server.stop();
}

/** A MariaDB or MySQL can't be embedded: one that listens, or none. */
async function useMysql(project: TestProject, run: string): Promise<() => Promise<void>> {
  const url = await findMysql();
  project.provide('mysqlUrl', url);
  return async () => {
    if (url !== undefined) await dropMysqlDatabasesOf(url, run);
  };
}

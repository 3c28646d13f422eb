import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { databaseUrl, dropDatabasesOf } from './database-server.js';
import { startPostgres } from './postgres.js';
import type {} from './test-database.js';

/** One PostgreSQL for the whole vitest run, or the one of DATABASE_URL, where nothing is left behind. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const run = randomBytes(4).toString('hex');
  project.provide('postgresRun', run);
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

import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createDatabase, databasePrefix, databaseUrl, dropDatabase } from './database-server.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** DATABASE_URL, or the embedded server of this run. May hold a password: don't print it. */
    postgresUrl: string;
    /** Part of the name of every database that this run makes. */
    postgresRun: string;
  }
}

export interface TestDatabase {
  readonly url: string;
  /** Also ends the connections that are still open to it. Idempotent. */
  drop(): Promise<void>;
}

/**
 * A new, empty database of its own, on DATABASE_URL's server if set, else on the embedded server of this vitest run.
 * What a test does not drop is dropped at the end of the run.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server: string | undefined = inject('postgresUrl');
  if (server === undefined) {
    throw new Error(
      'No PostgreSQL: add internal/test-database/src/vitest-global-setup.ts to globalSetup in vitest.config.ts.',
    );
  }
  const name = `${databasePrefix(inject('postgresRun'))}${randomBytes(6).toString('hex')}`;
  const url = databaseUrl(server, name);
  await createDatabase(server, name);
  return { url, drop: () => dropDatabase(server, name) };
}

import { randomBytes } from 'node:crypto';
import { createDatabase, databaseUrl, dropDatabase } from './database-server.js';
import { startPostgres } from './postgres.js';

/** An empty database outside of tests: for the demo. */
export interface OpenDatabase {
  readonly url: string;
  /** What runs it, for people to read. */
  readonly server: string;
  close(): Promise<void>;
}

/** On DATABASE_URL's server, in a database of its own, or on an embedded server that is gone after `close`. */
export async function openDatabase(): Promise<OpenDatabase> {
  const given = process.env.DATABASE_URL;
  if (given === undefined) {
    const embedded = await startPostgres();
    return { url: embedded.url, server: 'an embedded PostgreSQL', close: () => embedded.stop() };
  }
  const name = `postcommit_${randomBytes(6).toString('hex')}`;
  const url = databaseUrl(given, name);
  await createDatabase(given, name);
  return { url, server: 'the PostgreSQL of DATABASE_URL', close: () => dropDatabase(given, name) };
}

/**
 * Prints the url of a PostgreSQL on its usual port that lets us in without a password, as on the development
 * machines; prints nothing where there is none. The store tests then run on it too.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root } from './checkout.mjs';

const { Client } = createRequire(join(root, 'internal/test-database/package.json'))('pg');
const connectionString = 'postgres://postgres@127.0.0.1:5432/postgres';
const client = new Client({ connectionString, connectionTimeoutMillis: 3_000 });
try {
  await client.connect();
  const { rows } = await client.query('show server_version');
  console.error(`PostgreSQL ${rows[0].server_version} listens on port 5432.`);
  console.log(connectionString);
  await client.end();
} catch (error) {
  console.error(`No PostgreSQL to use on port 5432: ${error.message || error.code}`);
}

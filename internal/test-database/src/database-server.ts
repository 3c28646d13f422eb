import { Client } from 'pg';

/** Databases of one run share a prefix, so that its end can find those that a failed test left. */
export function databasePrefix(run: string): string {
  return `postcommit_test_${run}_`;
}

/** From template0 with fixed encoding and locale: a test sees the same empty database on every server. */
export async function createDatabase(serverUrl: string, name: string): Promise<void> {
  const options = `template template0 encoding 'UTF8' locale 'C'`;
  await withClient(serverUrl, (client) => client.query(`create database "${name}" ${options}`));
}

export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, (client) => drop(client, name));
}

export async function dropDatabasesOf(serverUrl: string, run: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    const found = await client.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [databasePrefix(run)],
    );
    for (const { datname } of found.rows) await drop(client, datname);
  });
}

/** Never lets a parser's error out: Node's carries the whole url, with its password. */
export function databaseUrl(serverUrl: string, name: string): string {
  if (!URL.canParse(serverUrl))
    throw new Error('DATABASE_URL is not a url like postgres://user@host:5432/name.');
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Gently first: a pool that was just ended may still have a backend, and to be cut off is an error in its client. */
async function drop(client: Client, name: string): Promise<void> {
  const text = `drop database if exists "${name}"`;
  await client.query(text).catch(() => client.query(`${text} with (force)`));
}

async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

import { Client } from 'pg';

/** One statement on a connection of its own; the first column of every row. */
export async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const result = await client.query<unknown[]>({ text, rowMode: 'array' });
    return result.rows.map((row) => row[0]);
  } finally {
    await client.end();
  }
}

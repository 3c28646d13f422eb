import { describe, expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../src/postgres.js';
import { expectNothingLeft, ownTemporaryFolder } from './leftovers.js';
import { query } from './query.js';
import { runVitest } from './run-vitest.js';

const FIXTURE = 'forgetful.fixture';

describe('createTestDatabase in a vitest run', { timeout: 60_000 }, () => {
  test('uses the embedded server, which is gone afterwards', async () => {
    const temporary = await ownTemporaryFolder();
    const { code, output } = await runVitest(FIXTURE, temporary);
    expect(output).toContain('1 passed');
    expect(code).toBe(0);
    await expectNothingLeft(temporary);
  });

  test('uses the server of DATABASE_URL and leaves nothing behind, not even what a test forgot', async () => {
    const server = await startPostgres({ settings: { log_statement: 'all' } });
    onTestFinished(() => server.stop());
    const before = await query(server.url, 'select datname from pg_database order by 1');
    const withPassword = server.url.replace('postgres@', 'postgres:s3cret@');
    const { code, output } = await runVitest(FIXTURE, await ownTemporaryFolder(), {
      DATABASE_URL: withPassword,
    });
    expect(output).toContain('1 passed');
    expect(output).not.toContain('s3cret');
    expect(code).toBe(0);
    expect(await query(server.url, 'select datname from pg_database order by 1')).toEqual(before);
    // Databases were made here: the run did not quietly use another server.
    expect(await query(server.url, `select pg_read_file('../postgres.log')`)).toEqual([
      expect.stringContaining('create database "postcommit_test_'),
    ]);
  });

  test.each([
    ['nothing listens', 'postgres://postgres:s3cret@127.0.0.1:1/postgres', 'ECONNREFUSED'],
    ['it is no url', 'postgres://postgres:s3cret@[nonsense', 'DATABASE_URL is not a url'],
  ])('fails without printing the password if %s', async (_case, url, message) => {
    const { code, output } = await runVitest(FIXTURE, await ownTemporaryFolder(), { DATABASE_URL: url });
    expect(output).toContain(message);
    expect(output).not.toContain('s3cret');
    expect(code).toBe(1);
  });
});

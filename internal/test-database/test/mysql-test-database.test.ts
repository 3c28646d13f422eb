import { createConnection } from 'mysql2/promise';
import { describe, expect, inject, test } from 'vitest';
import { findMysql } from '../src/mysql-server.js';
import { describeOnMysql } from '../src/mysql-test-database.js';
import { expectNothingLeft, ownTemporaryFolder } from './leftovers.js';
import { runVitest } from './run-vitest.js';

const FIXTURE = 'mysql.fixture';

describeOnMysql('createMysqlTestDatabase in a vitest run', () => {
  test('uses the server and leaves nothing behind, not even what a test forgot', {
    timeout: 60_000,
  }, async () => {
    const url = inject('mysqlUrl') ?? '';
    const temporary = await ownTemporaryFolder();
    const { code, output } = await runVitest(FIXTURE, temporary, { MYSQL_URL: url });
    expect(output).toContain('1 passed');
    expect(code).toBe(0);
    const forgotten = /forgot (postcommit_test_\w+)/.exec(output)?.[1];
    const connection = await createConnection(url);
    const [left] = await connection.query('select 1 from information_schema.schemata where schema_name = ?', [
      forgotten,
    ]);
    await connection.end();
    expect(forgotten).toBeDefined();
    expect(left).toEqual([]);
    await expectNothingLeft(temporary);
  });
});

describe('MYSQL_URL', () => {
  test.each([
    ['nothing listens', 'mysql://root:s3cret@127.0.0.1:1', /ECONNREFUSED/],
    ['it is no url', 'mysql://root:s3cret@[nonsense', /MYSQL_URL is not a url/],
  ])('is an error that does not print the password if %s', async (_case, url, message) => {
    const error = await findMysql(url).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toMatch(message);
    expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toContain('s3cret');
  });
});

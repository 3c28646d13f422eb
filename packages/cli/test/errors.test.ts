import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { useProject } from './project-fixture.js';

const postgres = usePostgres();
const project = useProject();

/** One line, and no trace of a stack. */
const ONE_LINE = /^(?!.*\n\s+at ).+\n$/;
const UNREACHABLE = 'postgres://app:s3cr%2Ft@127.0.0.1:1/none?password=s3cr2t';

describe('invalid arguments', () => {
  it.each([
    [['outbox:n\u001b[31mope']],
    [['outbox:stats', '--nope']],
    [['outbox:list', '--state', 'asleep']],
    [['outbox:list', '--limit', '0']],
    [['outbox:purge', '--older-than', 'a week']],
    [['outbox:retry']],
    [['outbox:stats', '--config']],
    [['outbox:stats', '--config', 'missing.ts']],
  ])('%j is refused in one line, before anything is done', async (args) => {
    // Nothing could be done: there is no database behind this address.
    const { code, stdout, stderr } = await project.run(args, { env: { DATABASE_URL: UNREACHABLE } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(ONE_LINE);
    expect(stderr).not.toContain('\u001b');
  });

  it('no arguments print the help', async () => {
    const { code, stdout, stderr } = await project.run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('outbox:dispatch');
  });

  it('a call for help or the version is not an error', async () => {
    const help = await project.run(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('outbox:stats');
    expect((await project.run(['outbox:list', '--help'])).stdout).toContain('--payload');
    expect((await project.run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });

  it('a missing outbox is an error', async () => {
    const { code, stdout, stderr } = await project.run(['outbox:stats']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /^outbox: no configuration found: write outbox.config.ts .* or set DATABASE_URL\n$/,
    );
  });

  it.each(['pg', '@postcommit/store-pg'])('DATABASE_URL without %s is an error', async (name) => {
    const installed = join(project.folder, 'node_modules', name);
    await rename(installed, `${installed}-away`);
    try {
      expect(await project.run(['outbox:stats'], { env: { DATABASE_URL: postgres.url } })).toEqual({
        code: 2,
        stdout: '',
        stderr: 'outbox: DATABASE_URL needs the PostgreSQL store: npm install @postcommit/store-pg pg\n',
      });
    } finally {
      await rename(`${installed}-away`, installed);
    }
  });

  it.each(['mysql', 'mariadb', 'sqlite', 's3'])(
    'DATABASE_URL of %s is an error, before anything connects',
    async (scheme) => {
      const env = { DATABASE_URL: `${scheme}://app:s3cr@127.0.0.1:1/x` };
      expect(await project.run(['outbox:stats'], { env })).toEqual({
        code: 2,
        stdout: '',
        stderr: `outbox: DATABASE_URL is a ${scheme}:// address, but without a config file the outbox must be in PostgreSQL; for MySQL, MariaDB or SQLite write an outbox.config.ts with the TypeORM store\n`,
      });
    },
  );

  it('dispatching without a publisher is an error', async () => {
    const { code, stdout, stderr } = await project.run(['outbox:dispatch'], {
      env: { DATABASE_URL: postgres.url },
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^outbox:dispatch: no publisher: add one in the config.*\n$/);
  });
});

describe('an unreachable database', () => {
  it.each([[['outbox:stats']], [['outbox:retry', 'a']], [['outbox:migrate']], [['outbox:doctor']]])(
    '%j fails in one line without the password',
    async (args) => {
      const { code, stdout, stderr } = await project.run(args, { env: { DATABASE_URL: UNREACHABLE } });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(ONE_LINE);
      expect(stderr).toContain('ECONNREFUSED');
      expect(stderr).not.toMatch(/s3cr/);
    },
  );

  it.each(['postgres://app:s3cr t@127.0.0.1:1/x', 'postgres://app:s3cr@t:1/[', 'nonsense s3cr'])(
    'is reported for %j',
    async (url) => {
      const { code, stdout, stderr } = await project.run(['stats'], { env: { DATABASE_URL: url } });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(ONE_LINE);
      if (url.includes('@')) expect(stderr).not.toMatch(/s3cr/);
    },
  );

  it('shows the stack only on request, and never the password', async () => {
    const { code, stderr } = await project.run(['stats', '--verbose'], {
      env: { DATABASE_URL: UNREACHABLE },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/\n\s+at /);
    expect(stderr).not.toMatch(/s3cr/);
  });

  it('includes one that does not exist on the server', async () => {
    const url = new URL(postgres.url);
    url.pathname = '/no_such_database';
    const { code, stderr } = await project.run(['stats'], { env: { DATABASE_URL: url.href } });
    expect(code).toBe(1);
    expect(stderr).toBe('outbox:stats: database "no_such_database" does not exist\n');
  });
});

describe('an error with more than a message', () => {
  const config = (failing: string): Record<string, string> => ({
    'outbox.config.ts': `
      import { defineConfig, OutboxCommands } from '@postcommit/cli';
      import { OutboxModule } from '@postcommit/core';
      import { OutboxMemoryModule } from '@postcommit/store-memory';
      class QueryFailedError extends Error {
        query = 'insert into cards values ($1)';
        parameters = ['4111-secret'];
        driverError = { detail: 'Key (card)=(4111-secret) exists' };
      }
      const fail = () => { throw new QueryFailedError('duplicate key at postgres://app:4111-secret@db/x, password=4111-secret'); };
      const command = { name: 'fail', description: 'Fails', run: async () => { ${failing} } };
      export default defineConfig({
        modules: [OutboxModule, OutboxMemoryModule, { name: 'Failing', contributes: [{ to: OutboxCommands, useValue: command }] }],
      });`,
  });

  it.each([
    ['in a command', 'fail();', 'fail'],
    [
      'behind its back',
      'setImmediate(fail); await new Promise(() => setTimeout(() => {}, 60_000));',
      'outbox',
    ],
    [
      'in a promise',
      'void (async () => fail())(); await new Promise(() => setTimeout(() => {}, 60_000));',
      'outbox',
    ],
  ])('prints only the message when it is thrown %s', async (_where, failing, name) => {
    expect(await project.run(['fail'], { files: config(failing) })).toEqual({
      code: 1,
      stdout: '',
      stderr: `${name}: duplicate key at postgres://***@db/x, password=***\n`,
    });
    const { stderr } = await project.run(['fail', '--verbose'], { files: config(failing) });
    expect(stderr).toMatch(/\n\s+at /);
    expect(stderr).not.toContain('4111');
  });
});

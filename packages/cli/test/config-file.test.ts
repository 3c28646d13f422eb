import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PgOutboxStore } from '@postcommit/store-pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { ended, type RunOptions, useProject } from './project-fixture.js';

const postgres = usePostgres();
const project = useProject();
const store = (): PgOutboxStore => new PgOutboxStore(postgres.pool);

const IMPORTS = `
  import { defineConfig, OutboxCommands } from '@postcommit/cli';
  import { Lifecycles, OutboxModule, OutboxPublisher } from '@postcommit/core';
  import { OutboxMemoryModule } from '@postcommit/store-memory';`;

const memory = (modules = '', rest = ''): string => `${IMPORTS}
  export default defineConfig({
    modules: [OutboxModule.forRoot({ publisher: async () => {} }), OutboxMemoryModule, ${modules}],
    ${rest}
  });`;

/** The outbox on PostgreSQL, with a publisher of that body. */
const onPg = (publish: string, options = ''): RunOptions => ({
  env: { TEST_DATABASE: postgres.url },
  files: {
    'outbox.config.ts': `${IMPORTS}
      import { OutboxPgModule } from '@postcommit/store-pg';
      import type { OutboxRow } from '@postcommit/core';
      import pg from 'pg';
      const pool: pg.Pool = new pg.Pool({ connectionString: process.env.TEST_DATABASE });
      let published = 0;
      const publisher = async (row: OutboxRow): Promise<void> => { published += 1; ${publish} };
      export default defineConfig({
        modules: [OutboxModule.forRoot({ publisher, ${options} }), OutboxPgModule.forRoot({ pool })],
        close: () => pool.end(),
      });`,
  },
});

const entries = (count: number): { topic: string; payload: number }[] =>
  Array.from({ length: count }, (_, index) => ({ topic: 'order.paid', payload: index }));

beforeEach(async () => {
  await postgres.query('truncate outbox');
});

describe('the config file', () => {
  it.each(['outbox.config.ts', 'outbox.config.js', 'outbox.config.mjs'])('may be %s', async (name) => {
    const { code, stdout, stderr } = await project.run(['outbox:dispatch'], { files: { [name]: memory() } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe('outbox:dispatch fetched=0 dispatched=0 failed=0 dead=0\n');
  });

  it.each([
    [['--config', 'deep/my.ts', 'outbox:stats', '--json']],
    [['outbox:stats', '--json', '--config=deep/my.ts']],
    [['outbox:stats', '--config', 'deep/my.ts', '--json']],
  ])('can be named: %j', async (args) => {
    const files = { 'deep/my.ts': memory(), 'outbox.config.ts': 'throw new Error("not this one")' };
    const { code, stdout } = await project.run(args, { files });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '{"pending":0,"dispatched":0,"dead":0,"total":0,"deadRows":[]}\n',
    });
  });

  it('takes precedence over DATABASE_URL', async () => {
    const options = {
      files: { 'outbox.config.ts': memory() },
      env: { DATABASE_URL: 'postgres://127.0.0.1:1/x' },
    };
    expect(await project.run(['stats'], options)).toMatchObject({ code: 0 });
  });

  it.each([
    [
      'throw new Error("no\\n way, postgres://a:secret@db");',
      'could not be loaded: no way, postgres://***@db',
    ],
    ['export default await Promise.reject(new Error("later"));', 'could not be loaded: later'],
    ['import "./missing.js";', 'could not be loaded: '],
    ['export default {{{', 'could not be loaded: '],
    ['export const config = 1;', 'exports no outbox: write export default createOutbox('],
    ['export default { modules: 5 };', 'exports no outbox: write export default createOutbox('],
  ])('%s is reported in one line', async (source, message) => {
    const { code, stdout, stderr } = await project.run(['stats'], { files: { 'outbox.config.ts': source } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^outbox: outbox\.config\.ts .+\n$/);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('secret');
  });

  it('that lacks a store is reported by name', async () => {
    const source = `${IMPORTS} export default defineConfig({ modules: [OutboxModule] });`;
    const { code, stderr } = await project.run(['stats'], { files: { 'outbox.config.ts': source } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^outbox: OutboxStore is not bound: .+\n$/);
  });

  it('can prefer another publisher, and leaves no cache behind', async () => {
    const source = memory(
      '',
      'preferences: [{ provide: OutboxPublisher, useValue: { publish: async () => {} } }],',
    );
    expect(await project.run(['dispatch'], { files: { 'outbox.config.ts': source } })).toMatchObject({
      code: 0,
    });
    expect(existsSync(join(project.folder, 'node_modules/.cache'))).toBe(false);
  });

  it('adds commands, includes the built-in ones once, and none whose capability is not bound', async () => {
    const command = `{ name: 'orders:check', description: 'Checks', run: async ({ output }) => output.show({ plain: ['fine'], json: 1 }) }`;
    const modules = `OutboxCliModule, { name: 'Orders', contributes: [{ to: OutboxCommands, useValue: ${command} }] }`;
    const files = {
      'outbox.config.ts': memory(modules).replace('OutboxCommands }', 'OutboxCliModule, OutboxCommands }'),
    };
    expect(await project.run(['orders:check'], { files })).toEqual({ code: 0, stdout: 'fine\n', stderr: '' });
    expect(await project.run(['outbox:migrate'], { files })).toMatchObject({ code: 2 });
    const { stdout } = await project.run(['orders:check', '--help'], { files });
    expect(stdout).toContain('Usage: outbox orders:check');
  });

  it.each([
    [[]],
    [['help']],
    [['--help']],
    [['-h']],
    [['--version']],
    [['-V']],
    [['help', 'stats']],
    [['outbox:stats', '--help']],
    [['--config', 'outbox.config.ts', 'list', '-h']],
    [['--config', 'missing.ts', '--version']],
  ])('is not run for %j', async (args) => {
    const source = `import { writeFileSync } from 'node:fs'; writeFileSync('was-run', ''); throw new Error('not run');`;
    const { code, stdout, stderr } = await project.run(args, { files: { 'outbox.config.ts': source } });
    const isBare = args.length === 0;
    expect(code).toBe(isBare ? 2 : 0);
    expect(isBare ? stderr : stdout).toMatch(
      args.some((arg) => /^(-V|--version)$/.test(arg)) ? /^\d+\.\d+/ : /Usage: outbox/,
    );
    expect(stdout + stderr).not.toContain('not run');
    expect(
      (await readdir(project.folder, { recursive: true })).filter((file) => file.endsWith('was-run')),
    ).toEqual([]);
  });

  it('is run for arguments that only look like a call for help', async () => {
    const { code, stdout } = await project.run(['outbox:list', '--topic', '--help'], {
      files: { 'outbox.config.ts': memory() },
    });
    expect({ code, stdout: stdout.includes('Usage') }).toEqual({ code: 0, stdout: false });
  });

  it('adds nothing to the help without it, which lists all built-in commands', async () => {
    const { stdout } = await project.run(['--help'], { files: { 'outbox.config.ts': memory() } });
    for (const name of ['outbox:stats', 'outbox:dispatch', 'outbox:migrate', 'outbox:schema'])
      expect(stdout).toContain(name);
  });

  it('opens resources for a command and closes them, and does not start the rest', async () => {
    const lifecycle = (name: string, phase: string): string => `{ to: Lifecycles, useValue: {
      name: '${name}', phase: '${phase}',
      start: () => void process.stdout.write('${name} starts\\n'), stop: () => void process.stdout.write('${name} stops\\n'),
    } }`;
    const modules = `{ name: 'Parts', contributes: [${lifecycle('worker', 'work')}, ${lifecycle('client', 'resource')}] }`;
    const close = `close: () => void process.stdout.write('closed\\n'),`;
    const { stdout } = await project.run(['stats'], {
      files: { 'outbox.config.ts': memory(modules, close) },
    });
    expect(stdout.split('\n')).toEqual([
      'client starts',
      'outbox:stats pending=0 dispatched=0 dead=0 total=0',
      'client stops',
      'closed',
      '',
    ]);
  });

  it('that fails to close is reported', async () => {
    const files = { 'outbox.config.ts': memory('', "close: () => Promise.reject(new Error('stuck')),") };
    expect(await project.run(['stats'], { files })).toMatchObject({ code: 1, stderr: 'outbox: stuck\n' });
  });

  it('that leaves something open does not keep the process running', async () => {
    const files = { 'outbox.config.ts': `setInterval(() => {}, 1_000); ${memory()}` };
    expect(await project.run(['outbox:retry', 'x'], { files })).toMatchObject({ code: 1 });
  });
});

describe('the config file that exports an outbox', () => {
  const outbox = (options: string, before = ''): RunOptions => ({
    env: { TEST_DATABASE: postgres.url },
    files: {
      // As an application has it: the config file only exports what its other processes use.
      'src/outbox.ts': `
        import { OutboxCommands, OutboxCliModule } from '@postcommit/cli';
        import { createOutbox, Lifecycles } from '@postcommit/core';
        import { pgStore } from '@postcommit/store-pg';
        import pg from 'pg';
        ${before}
        const pool = new pg.Pool({ connectionString: process.env.TEST_DATABASE });
        export const outbox = createOutbox({ store: pgStore(pool), ${options} });`,
      'outbox.config.ts': "import { outbox } from './src/outbox.js';\nexport default outbox;",
    },
  });

  it('has all commands', async () => {
    await store().enqueue(entries(3));
    const options = outbox('publisher: async () => {}');
    expect(await project.run(['dispatch', '--limit', '2'], options)).toEqual({
      code: 0,
      stdout: 'outbox:dispatch fetched=2 dispatched=2 failed=0 dead=0\n',
      stderr: '',
    });
    expect(await project.run(['outbox:stats'], options)).toMatchObject({
      code: 0,
      stdout: 'outbox:stats pending=1 dispatched=2 dead=0 total=3\n',
    });
  });

  it('needs no publisher to inspect, and starts no worker', async () => {
    await store().enqueue(entries(1));
    const { code, stdout } = await project.run(['stats'], outbox('worker: false'));
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'outbox:stats pending=1 dispatched=0 dead=0 total=1\n',
    });
    expect(await project.run(['dispatch'], outbox('worker: false'))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^outbox:dispatch: no publisher/),
    });
  });

  it('adds the commands of its modules, and has ours once', async () => {
    const command = `const check = { name: 'orders:check', description: 'Checks', run: async ({ output }) => output.show({ plain: ['fine'], json: 1 }) };`;
    const modules = `worker: false, modules: [OutboxCliModule, { name: 'Orders', contributes: [{ to: OutboxCommands, useValue: check }] }]`;
    expect(await project.run(['orders:check'], outbox(modules, command))).toEqual({
      code: 0,
      stdout: 'fine\n',
      stderr: '',
    });
    const { stdout } = await project.run(['stats'], outbox(modules, command));
    expect(stdout).toContain('outbox:stats pending=');
  });
});

describe('dispatching', () => {
  it('publishes a batch of rows', async () => {
    await store().enqueue(entries(12));
    expect(await project.run(['outbox:dispatch'], onPg(''))).toEqual({
      code: 0,
      stdout: 'outbox:dispatch fetched=12 dispatched=12 failed=0 dead=0\n',
      stderr: '',
    });
    expect(await store().count()).toMatchObject({ pending: 0, dispatched: 12 });
  });

  it('publishes up to the limit, and all rows in a loop', async () => {
    await store().enqueue(entries(130));
    const { stdout } = await project.run(['outbox:dispatch', '--limit', '10', '--json'], onPg(''));
    expect(JSON.parse(stdout)).toEqual({ fetched: 10, dispatched: 10, failed: 0, dead: 0, fenced: 0 });
    const publisher = 'if (row.payload === 99) throw new Error("poison");';
    const loop = await project.run(['outbox:dispatch', '--loop'], onPg(publisher, 'maxAttempts: 3'));
    expect(loop).toMatchObject({
      code: 0,
      stdout: 'outbox:dispatch fetched=122 dispatched=119 failed=2 dead=1\n',
    });
    expect(await store().count()).toEqual({ pending: 0, dispatched: 129, dead: 1, total: 130 });
  });

  it('ends a loop over rows that always fail', async () => {
    await store().enqueue(entries(3));
    const { code, stdout, stderr } = await project.run(
      ['dispatch', '--loop'],
      onPg('throw new Error("down");'),
    );
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'outbox:dispatch: gave up: the remaining due rows keep failing\n',
    });
    expect(stdout).toContain('dispatched=0');
    expect(await store().count()).toMatchObject({ pending: 3 });
  });

  it('ends after the current batch on Ctrl-C', async () => {
    await store().enqueue(entries(6));
    // The first publish ends when the signal has come: the batch is in hand then, for certain.
    const publisher = `if (published === 1) {
      const interrupted = new Promise((resolve) => process.once('SIGINT', resolve));
      process.stderr.write('publishing\\n');
      const alive = setInterval(() => {}, 1_000);
      await interrupted;
      clearInterval(alive);
    }`;
    const child = await project.start(['dispatch', '--loop', '--limit', '2'], onPg(publisher));
    const end = ended(child);
    if (child.stderr) await once(child.stderr, 'data');
    child.kill('SIGINT');
    const { code, stdout, stderr } = await end;
    expect({ code, stdout }).toEqual({
      code: 130,
      stdout: 'outbox:dispatch fetched=2 dispatched=2 failed=0 dead=0\n',
    });
    expect(stderr).toMatch(/outbox:dispatch: interrupted\n$/);
    expect(await store().count()).toMatchObject({ pending: 4, dispatched: 2 });
  });

  it('ends at once on a second Ctrl-C', async () => {
    await store().enqueue(entries(1));
    const publisher = `process.stderr.write('publishing\\n'); await new Promise(() => setInterval(() => {}, 1_000));`;
    const child = await project.start(['dispatch', '--loop'], onPg(publisher));
    const end = ended(child);
    if (child.stderr) {
      await once(child.stderr, 'data');
      child.kill('SIGINT');
      await once(child.stderr, 'data');
    }
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: 130, stdout: '' });
    expect(await store().count()).toMatchObject({ pending: 1 });
  });
});

describe('with TypeORM', () => {
  const typeorm = (): RunOptions => ({
    env: { TEST_DATABASE: postgres.url },
    files: {
      'outbox.config.ts': `${IMPORTS}
        import { OutboxTypeormModule } from '@postcommit/store-typeorm';
        import { DataSource } from 'typeorm';
        const query = { name: 'query', description: 'Fails', run: ({ app }) => app.get(DataSource).query('select $1::int', ['4111-secret']) };
        export default defineConfig({ modules: [
          OutboxModule.forRoot({ publisher: async () => {} }),
          OutboxTypeormModule.forRoot({
            dataSource: (entities) => new DataSource({ type: 'postgres', url: process.env.TEST_DATABASE, entities }),
          }),
          { name: 'Query', contributes: [{ to: OutboxCommands, useValue: query }] },
        ] });`,
    },
  });

  it('opens the data source that the config describes', async () => {
    await store().enqueue(entries(2));
    expect(await project.run(['dispatch'], typeorm())).toEqual({
      code: 0,
      stdout: 'outbox:dispatch fetched=2 dispatched=2 failed=0 dead=0\n',
      stderr: '',
    });
  });

  it('prints an error of the driver without the statement and its parameters', async () => {
    const { code, stderr } = await project.run(['query'], typeorm());
    expect(code).toBe(1);
    expect(stderr).toMatch(/^query: invalid input syntax .+\n$/);
    expect((await project.run(['query', '--verbose'], typeorm())).stderr).not.toContain('select $1');
  });
});

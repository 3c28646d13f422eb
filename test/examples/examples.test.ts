import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startPostgres } from '@internal/test-database/postgres';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { missingBroker } from './example-broker.js';
import { type ExampleDatabase, openMysql, openPostgres, openPostgresOn } from './example-database.js';
import { type ExampleReadme, exampleNames, importsOf, readExampleReadme } from './example-readme.js';
import { HeldPublish, PRELOAD } from './held-publish.js';
import { closeKafka, findKafka } from './kafka-broker.js';
import { PastedExamples } from './pasted-examples.js';
import { RunningExample } from './running-example.js';
import { SharedRestart } from './shared-restart.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
const readmes = exampleNames().map(readExampleReadme);

/** Packages that an example needs but does not import. */
const NOT_IMPORTED: Readonly<Record<string, readonly string[]>> = {
  bullmq: ['ioredis'], // the client that BullMQ loads
  nestjs: ['@nestjs/platform-express', 'pg'], // drivers of Nest and TypeORM
  'orders-mysql': ['mysql2'],
  'orders-prisma': ['@prisma/client'], // by the client that Prisma generates
  'orders-sqlite': ['sql.js'],
  'orders-typeorm': ['pg'],
  'web-worker-cli': ['@postcommit/cli'], // by `npx outbox`
};

/** How a program ends that is interrupted. Others end with 0. */
const INTERRUPTED: Readonly<Record<string, number>> = {
  cli: 143, // a command says by its exit code that it was interrupted
};

/** Examples that have no claims which a signal could leave behind. */
const WITHOUT_DATABASE: Readonly<Record<string, string>> = {
  'orders-sqlite': 'each run has a file of its own, which nobody opens again',
  'testing-handlers': 'its store is in memory, and vitest runs it',
};

/** npm may have to fetch everything, on a busy machine. */
const patience = { timeout: 300_000 };
let pasted: PastedExamples;
let preload: string;

beforeAll(async () => {
  pasted = await PastedExamples.install(readmes);
  preload = join(pasted.installed, 'held-publish.mjs');
  writeFileSync(preload, PRELOAD);
}, patience.timeout);

afterAll(async () => {
  await pasted?.remove();
  await closeKafka();
});

/** Runs to the first publish, holds that until `then` has happened, and then to the end. */
async function runHeld(
  readme: ExampleReadme,
  folder: string,
  database: ExampleDatabase,
  then: (program: RunningExample) => Promise<void> | void,
): Promise<{ code: unknown; output: string }> {
  const held = await HeldPublish.open();
  const program = RunningExample.start(readme, folder, {
    [readme.databaseVariable ?? '']: database.url,
    NODE_OPTIONS: `--import ${pathToFileURL(preload)}`,
    HELD_PUBLISH_URL: held.url,
    ...(readme.name === 'kafka' && (await findKafka())),
  });
  try {
    const ended = program.ended();
    await Promise.race([held.reached, ended.then(({ output }) => Promise.reject(new Error(output)))]);
    expect(await database.claims(), 'claims while it publishes').toBeGreaterThan(0);
    await then(program);
    held.release();
    return await ended;
  } finally {
    await program.end();
    await held.close();
  }
}

const onPostgres = readmes.filter(
  ({ name, databaseVariable }) => databaseVariable !== 'MYSQL_URL' && !Object.hasOwn(WITHOUT_DATABASE, name),
);
const onMysql = readmes.filter(({ databaseVariable }) => databaseVariable === 'MYSQL_URL');

async function interrupt(readme: ExampleReadme, folder: string, database: ExampleDatabase): Promise<void> {
  const { code, output } = await runHeld(readme, folder, database, (program) => program.terminate());
  expect(code, output).toBe(INTERRUPTED[readme.name] ?? 0);
  expect(await database.claims(), 'claims after SIGTERM').toBe(0);
}

describe.concurrent('pasted into an empty folder, with what its README installs', () => {
  it.for(onPostgres)('$name leaves no claim behind at SIGTERM', patience, async (readme, { skip }) => {
    const missing = await missingBroker(readme.name);
    skip(missing !== undefined, missing);
    const database = await openPostgres();
    const folder = await pasted.paste(readme);
    await RunningExample.prepare(readme, folder);
    await interrupt(readme, folder, database);
    await database.drop();
  });

  it.for(onMysql)(
    '$name leaves no claim behind at SIGTERM, and then runs although its connections are cut',
    patience,
    async (readme, { skip }) => {
      skip(inject('mysqlUrl') === undefined, 'no MariaDB or MySQL to run on: set MYSQL_URL');
      const database = await openMysql();
      const folder = await pasted.paste(readme);
      await interrupt(readme, folder, database);
      const { code, output } = await runHeld(readme, folder, database, () => database.disconnectAll());
      expect(code, output).toBe(0);
      expect(await database.claims(), 'claims at the end').toBe(0);
      await database.drop();
    },
  );

  it.for(readmes.filter(({ name }) => Object.hasOwn(WITHOUT_DATABASE, name)))(
    '$name runs',
    patience,
    async (readme) => {
      const folder = await pasted.paste(readme);
      await RunningExample.prepare(readme, folder);
      const { code, output } = await RunningExample.start(readme, folder, {}).ended();
      expect(code, output).toBe(0);
    },
  );

  it('says which variable is missing', patience, async () => {
    const readme = readExampleReadme('orders-pg');
    const program = RunningExample.start(readme, await pasted.paste(readme), {});
    const { code, output } = await program.ended();
    expect(code).toBe(1);
    expect(output).toContain('Set DATABASE_URL, e.g. to postgres://');
  });
});

/** The server is restarted once, when all programs publish: a server for each would take minutes. */
it('every example on PostgreSQL runs although its database is restarted', patience, async () => {
  const runnable: ExampleReadme[] = [];
  for (const readme of onPostgres) if (!(await missingBroker(readme.name))) runnable.push(readme);
  // A pool and a listener each, for more than twenty programs.
  const server = await startPostgres({ settings: { max_connections: '400' } });
  const restart = new SharedRestart(runnable.length, () => server.restart());
  try {
    const ends = await Promise.all(
      runnable.map(async (readme) => {
        const database = await openPostgresOn(server, readme.name.replaceAll('-', '_'));
        const folder = await pasted.paste(readme);
        await RunningExample.prepare(readme, folder);
        const run = runHeld(readme, folder, database, () => restart.whenAllAreReady());
        const { code, output } = await run.catch((error) => restart.fail(error));
        const claims = await database.claims();
        await database.drop();
        return { name: readme.name, code, claims, ...(code !== 0 && { output }) };
      }),
    );
    expect(ends).toEqual(runnable.map(({ name }) => ({ name, code: 0, claims: 0 })));
  } finally {
    await server.stop();
  }
});

describe.each(readmes)('the README of $name', ({ name, packages, preparation, start }) => {
  it('installs what the example imports and runs, and nothing else', () => {
    const commands = [...preparation, start].map((line) => /^npx (\S+)|--import (\S+)/.exec(line));
    const runners = commands.flatMap((command) => command?.[1] ?? command?.[2] ?? []);
    const needed = new Set([...importsOf(name), ...runners, ...(NOT_IMPORTED[name] ?? [])]);
    expect(packages.toSorted()).toEqual([...needed].sort());
  });

  it('says how to run it in the checkout', () => {
    expect(read(`examples/${name}/README.md`)).toContain(`npm run example ${name}`);
  });
});

it('the list of examples names every one of them, and no other', () => {
  const listed = [...read('examples/README.md').matchAll(/^\| \[`([^`]+)`\]\(([^)]+)\)/gm)];
  expect(listed.map(([, name]) => name).sort()).toEqual([...exampleNames(), 'demo'].sort());
  for (const [, name, link] of listed) expect(link).toBe(name);
});

it('the guide on idempotency shows what its example runs', () => {
  const source = read('examples/idempotent-consumer/src/main.ts');
  const [, code] = /\/\/ #region guide\n([\s\S]*?)\/\/ #endregion/.exec(source) ?? [];
  const [, block] = /```ts\n([\s\S]*?)```/.exec(read('docs/guides/idempotency.md')) ?? [];
  expect(block).toBe(code);
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ExampleDatabase, openMysql, openPostgres } from './example-database.js';
import { type ExampleReadme, exampleNames, importsOf, readExampleReadme } from './example-readme.js';
import { HeldPublish, PRELOAD } from './held-publish.js';
import { PastedExamples } from './pasted-examples.js';
import { RunningExample } from './running-example.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
const readmes = exampleNames().map(readExampleReadme);

/** Packages that an example needs but does not import. */
const NOT_IMPORTED: Readonly<Record<string, readonly string[]>> = {
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

/** Examples whose own work fails, as it should, when their connections are cut: they are run without that. */
const FAILS_WHEN_CUT: Readonly<Record<string, string>> = {
  nestjs: 'it places an order while another is announced: that request fails with its transaction',
  cli: 'a command reports the lost connection and exits with 1: whoever ran it runs it again',
};

/** Examples that may leave a claim when their connections are cut. */
const LEAVES_CLAIMS_WHEN_CUT: Readonly<Record<string, string>> = {
  cron: 'a job does not repeat a settle that was cut, as the worker does: its row is published again once the claim expires',
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

afterAll(() => pasted?.remove());

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

describe.concurrent('pasted into an empty folder, with what its README installs', () => {
  const withDatabase = readmes.filter(({ name }) => !Object.hasOwn(WITHOUT_DATABASE, name));

  it.for(withDatabase)(
    '$name leaves no claim behind at SIGTERM, and then runs although its connections are cut',
    patience,
    async (readme, { skip }) => {
      const isMysql = readme.databaseVariable === 'MYSQL_URL';
      skip(isMysql && inject('mysqlUrl') === undefined, 'no MariaDB or MySQL to run on: set MYSQL_URL');
      const database = await (isMysql ? openMysql() : openPostgres());
      const folder = await pasted.paste(readme);
      await RunningExample.prepare(readme, folder);

      const interrupted = await runHeld(readme, folder, database, (program) => program.terminate());
      expect(interrupted.code, interrupted.output).toBe(INTERRUPTED[readme.name] ?? 0);
      expect(await database.claims(), 'claims after SIGTERM').toBe(0);

      const isCut = !Object.hasOwn(FAILS_WHEN_CUT, readme.name);
      const { code, output } = await runHeld(readme, folder, database, () =>
        isCut ? database.disconnectAll() : undefined,
      );
      expect(code, output).toBe(0);
      if (!Object.hasOwn(LEAVES_CLAIMS_WHEN_CUT, readme.name))
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

import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';
import { modulesOf } from './block-modules.js';
import { runningApplication } from './compile-blocks.js';
import { PageProgram } from './page-program.js';
import { type Block, blocksOf, pageNames, root } from './pages.js';

const fixture = usePostgres(async () => {});

/** Pages whose fragments can run one after another, and what a reader would call at the end. */
const pages: Readonly<Record<string, string>> = {
  'docs/concepts/problem.md': 'await pay(id);',
  'docs/concepts/claims.md': '',
  'docs/concepts/workers.md': '',
  'docs/concepts/order.md': "await changeOrder(id, 'shipped');",
  'docs/concepts/worker.md': '',
  'docs/guides/pg.md': 'await payOrder(id);',
  'docs/guides/typeorm.md': '',
  'docs/guides/prisma.md': '',
  'docs/guides/events.md': '',
  'docs/guides/retries.md': '',
  'docs/guides/scheduling.md': '',
  'docs/operations/schema.md': '',
  'docs/operations/dead-letters.md': '',
  'docs/operations/replication.md': "await pool.query('select 1'); await pool.end();",
  'docs/operations/retention.md': '',
  'docs/operations/tuning.md': '',
};

/** Pages whose code is run by something else, or whose like is. */
const elsewhere: Readonly<Record<string, string>> = {
  'docs/guides/containers.md': 'test/integration/containers.test.ts',
  'docs/guides/databases.md': 'packages/store-typeorm/test',
  'docs/guides/idempotency.md': 'examples/idempotent-consumer',
  'docs/guides/inbox.md': 'packages/inbox/test',
  'docs/guides/nestjs.md': 'packages/nestjs/test/guide.test.ts',
  'docs/guides/publishers.md': 'examples/webhook',
  'docs/guides/testing.md': 'test/documentation/runs.test.ts',
  'docs/guides/topics.md': 'examples/typed-topics',
  'docs/operations/telemetry.md': 'examples/tracing',
  'docs/publishers/bullmq.md': 'examples/bullmq',
  'docs/publishers/kafka.md': 'examples/kafka',
  'docs/publishers/nats.md': 'examples/nats',
  'docs/publishers/rabbitmq.md': 'examples/rabbitmq',
  'docs/publishers/redis.md': 'examples/redis-streams',
  'docs/publishers/webhook.md': 'examples/webhook',
  'docs/reference/cli.md': 'examples/cli',
  'docs/start/next.md': 'test/documentation/start.test.ts',
};

/** The fragments of a page; whole files are for other tools. */
function fragmentsOf(page: string): Block[] {
  return blocksOf(page).filter(({ language, code }) => language === 'ts' && !/^\/\/ \S+\.ts\n/.test(code));
}

/** What a fragment of this page imports from the reader's project. */
function filesBeside(page: string): Record<string, string> {
  const client = join(root, 'packages/store-prisma/test/gen/client.js');
  return { [`${page}/generated/prisma/client.ts`]: `export * from ${JSON.stringify(client)};\n` };
}

it('every page with code is run, here or elsewhere', () => {
  const withCode = pageNames()
    .filter((page) => page.startsWith('docs/'))
    .filter((page) => fragmentsOf(page).length > 0);
  expect(Object.keys({ ...pages, ...elsewhere }).sort()).toEqual(withCode.sort());
  expect(Object.values(elsewhere).filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it('the code of the guides runs, page by page, as a reader would run it', { timeout: 180_000 }, async () => {
  const program = await PageProgram.run((folder) => {
    const modules = Object.entries(pages).map(([page, call]) =>
      modulesOf(page, [...fragmentsOf(page), { page, line: 0, language: 'ts', code: call }], {
        folder: join(folder, page),
        preambles: [runningApplication],
        valuesOnly: true,
      }),
    );
    const main = modules.flatMap((ofPage) => [
      ...ofPage.map(({ path }) => `await import(${JSON.stringify(path)});`),
      `process.stdout.write('ran ${ofPage[0]?.block.page}\\n');`,
    ]);
    return {
      'src/main.ts': [...main, 'process.exit();'].join('\n'),
      ...filesBeside('docs/guides/prisma.md'),
      ...Object.fromEntries(modules.flat().map(({ path, text }) => [relative(folder, path), text])),
    };
  }, fixture.url);
  const exitCode = await program.ended();
  const ran = program.lines.filter((line) => line.startsWith('ran ')).map((line) => line.slice(4));
  expect(ran, program.complaints.slice(-20).join('\n')).toEqual(Object.keys(pages));
  expect(exitCode).toBe(0);
});

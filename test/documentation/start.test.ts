import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';
import { filesOf, mainOf, ORDERS } from './page-mains.js';
import { PageProgram } from './page-program.js';
import { blocksOf, root } from './pages.js';

/** From nothing: the program itself makes the tables of the outbox. */
const fixture = usePostgres(async () => {});
const patience = { timeout: 120_000 };

async function pays(main: string): Promise<void> {
  await fixture.query(
    `drop table if exists orders, outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused; ${ORDERS}`,
  );
  const program = await PageProgram.run(filesOf(main), fixture.url);
  const isDone = (): boolean => program.hasEnded || program.lines.length >= 2;
  await vi.waitUntil(isDone, { timeout: 60_000, interval: 20 });
  expect(await program.interrupt(), program.complaints.join('\n')).toBe(0);
  expect(program.lines.sort()).toEqual([
    expect.stringMatching(/^published order\.paid \{ id: '[0-9a-f-]{36}' \}$/),
    'rolled back: card declined',
  ]);
  const [order, ...others] = await fixture.query('select id, status from orders');
  expect([order?.status, others]).toEqual(['paid', []]);
  const rows = await fixture.query('select payload, dispatched_at is not null as dispatched from outbox');
  expect(rows).toEqual([{ payload: { id: order?.id }, dispatched: true }]);
}

describe('the code of README.md runs verbatim: it stores one order and publishes its message', () => {
  it.each([
    // The first two create the table of orders, too; Prisma's comes from `prisma db push`.
    { file: 'src/main.ts', prepared: '' },
    { file: 'src/typeorm.ts', prepared: '' },
    { file: 'src/prisma.ts', prepared: ORDERS },
  ])('$file', patience, async ({ file, prepared }) => {
    await fixture.query(
      `drop table if exists orders, outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused; ${prepared}`,
    );
    const program = await PageProgram.run(filesOf(mainOf('README.md', file)), fixture.url);
    await program.says(/^published order\.paid \{ id: '[0-9a-f-]{36}' \}$/);
    expect(await program.interrupt(), program.complaints.join('\n')).toBe(0);
    expect(program.lines).toHaveLength(1);
    expect(
      await fixture.query(
        'select status, key = orders.id as keyed, dispatched_at is not null as dispatched from orders cross join outbox',
      ),
    ).toEqual([{ status: 'paid', keyed: true, dispatched: true }]);
  });
});

describe('a reader who follows the page exactly pays one order and receives its message', () => {
  it.each(['docs/start/pg.md', 'docs/start/typeorm.md', 'docs/start/prisma.md'] as const)(
    '%s',
    patience,
    async (page) => {
      await pays(mainOf(page));
    },
  );

  it('docs/start/next.md: even if the broker fails twice', patience, async () => {
    const main = mainOf('docs/start/pg.md');
    const [block] = blocksOf('docs/start/next.md').filter(({ language }) => language === 'ts');
    const failing = main.replace(
      /const outbox = createOutbox\(\{\n[\s\S]*?\n\}\);\n/,
      () => block?.code ?? '',
    );
    expect(failing).toContain('broker down at try');
    await pays(failing);
    expect(await fixture.query('select attempts, last_error from outbox')).toEqual([
      { attempts: 2, last_error: expect.stringContaining('broker down at try 2') },
    ]);
  });
});

it('the model on the Prisma page is the one whose client runs here', () => {
  const [page = ''] = blocksOf('docs/start/prisma.md').flatMap(({ language, code }) =>
    language === 'prisma' ? code : [],
  );
  const [model = 'none'] = /model Order [\s\S]*?\n}/.exec(page) ?? [];
  expect(readFileSync(`${root}/packages/store-prisma/test/schema.prisma`, 'utf8')).toContain(model);
});

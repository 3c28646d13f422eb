import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sidebar } from '../../docs/.vitepress/sidebar.js';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';
import { type Block, blocksOf, pageNames, readPage, root } from './pages.js';

const fixture = usePostgres(async ({ query }) => {
  await query('create table orders (id text primary key, status text)');
  await query(
    'create table processed_messages (consumer text, message_id text, primary key (consumer, message_id))',
  );
});
const pages = pageNames();

interface Item {
  readonly link?: string;
  readonly items?: readonly Item[];
}

function linksIn(items: readonly Item[]): string[] {
  return items.flatMap(({ link, items: inner = [] }) => [
    ...(link === undefined ? [] : [link]),
    ...linksIn(inner),
  ]);
}

describe('the pages', () => {
  it('name only files that exist', () => {
    const missing = pages.flatMap((page) =>
      [
        ...readPage(page).matchAll(
          /`((?:packages|test|docs|examples|bench|chaos|scripts|internal)\/[\w./-]+)`/g,
        ),
      ]
        .map(([, path = '']) => path)
        .filter((path) => !existsSync(`${root}/${path}`))
        .map((path) => `${page}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('are all in the sidebar', () => {
    const links = linksIn(sidebar());
    const hidden = pages
      .filter((page) => page.startsWith('docs/') && page !== 'docs/index.md')
      .map((page) =>
        page
          .replace('docs', '')
          .replace('.md', '')
          .replace(/(index|README)$/, ''),
      )
      .filter((link) => !links.includes(link));
    expect(hidden).toEqual([]);
  });

  it('list every decision, each with its date and status, on one screen', () => {
    const index = readPage('docs/decisions/README.md');
    const decisions = readdirSync(`${root}/docs/decisions`).filter((name) => name !== 'README.md');
    expect(decisions.filter((name) => !index.includes(`](${name})`))).toEqual([]);
    for (const name of decisions) {
      const [text = ''] = readPage(`docs/decisions/${name}`).split('\n## Lab notes\n');
      expect(text, name).toMatch(/^# .*\n\nDate: \d{4}-\d{2}\. Status: \w+\.\n\n\*\*Context\.\*\* /);
      for (const part of ['Choice', 'Price']) expect(text, name).toContain(`\n**${part}.**`);
      expect(text.split(/\s+/).length, `words of ${name}`).toBeLessThanOrEqual(600);
    }
  });
});

describe('the SQL on every page', () => {
  /** Their statements belong together, and are run so by tests of their own. */
  const elsewhere: Readonly<Record<string, string>> = {
    'docs/guides/from-a-status-column.md': 'packages/nestjs/test/status-column.test.ts',
    'docs/operations/monitoring.md': 'test/documentation/monitoring.test.ts',
    'docs/operations/replication.md': 'test/integration/replication.test.ts',
  };
  const statements = pages
    .flatMap(blocksOf)
    .filter(({ language, page }) => language === 'sql' && !elsewhere[page]);

  it.each(statements.map((block) => ({ block, where: `${block.page}:${block.line}` })))(
    'is valid in PostgreSQL: $where',
    async ({ block }: { block: Block }) => {
      await fixture.query(`prepare page as ${block.code}; deallocate page`);
    },
  );

  it.each(Object.entries(elsewhere))('of %s is run by %s', (page, test) => {
    expect(readPage(test)).toContain(page.slice('docs/'.length));
  });
});

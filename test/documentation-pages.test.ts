import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sidebar } from '../docs/.vitepress/sidebar.js';
import { usePostgres } from '../packages/store-sql/test/postgres-fixture.js';
import { type Block, blocksOf, pageNames, readPage, root } from './documentation/pages.js';

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
      [...readPage(page).matchAll(/`((?:packages|test|docs|examples|bench|scripts|tooling)\/[\w./-]+)`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !existsSync(`${root}/${path}`))
        .map((path) => `${page}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('are all in the side bar', () => {
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

  it('list every decision', () => {
    const index = readPage('docs/decisions/README.md');
    const decisions = readdirSync(`${root}/docs/decisions`).filter((name) => name !== 'README.md');
    expect(decisions.filter((name) => !index.includes(`](${name})`))).toEqual([]);
  });
});

describe('the SQL on every page', () => {
  /** Their statements belong together, and are run so by tests of their own. */
  const elsewhere: Readonly<Record<string, string>> = {
    'docs/guides/from-a-status-column.md': 'packages/nestjs/test/status-column.test.ts',
    'docs/operations/monitoring.md': 'test/monitoring.test.ts',
    'docs/operations/replication.md': 'test/replication.test.ts',
  };
  const statements = pages
    .flatMap(blocksOf)
    .filter(({ language, page }) => language === 'sql' && !elsewhere[page]);

  it.each(statements.map((block) => ({ block, where: `${block.page}:${block.line}` })))(
    'is understood by PostgreSQL: $where',
    async ({ block }: { block: Block }) => {
      await fixture.query(`prepare page as ${block.code}; deallocate page`);
    },
  );

  it.each(Object.entries(elsewhere))('of %s is run by %s', (page, test) => {
    expect(readPage(test)).toContain(page.slice('docs/'.length));
  });
});

import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { descriptions } from '../../docs/.vitepress/descriptions.js';
import { figures } from '../../docs/.vitepress/figures.js';
import { linkOf, llmsFullTxt, llmsTxt, pagesIn, sourceOf } from '../../docs/.vitepress/llms.js';
import { sidebar } from '../../docs/.vitepress/sidebar.js';
import { blocksOf, pageNames, readPage, root } from './pages.js';
import { tableUnder } from './tables.js';

const pages = pagesIn(sidebar());
const isApi = (link = ''): boolean => link.startsWith('/reference/api/');

describe('the home page', () => {
  const regions = [...readPage('docs/index.md').matchAll(/<!--@include: \.\.\/README\.md#([\w-]+)-->/g)].map(
    ([, name = '']) => name,
  );

  it('shows the install lines and the code of README.md, for pg, TypeORM and Prisma', () => {
    const stores = ['pg', 'typeorm', 'prisma'];
    expect(regions).toEqual([
      ...stores.map((name) => `install-${name}`),
      ...stores.map((name) => `code-${name}`),
    ]);
    expect(regions.flatMap((name) => fencesIn(name))).toEqual([
      'sh [pg]',
      'sh [TypeORM]',
      'sh [Prisma]',
      'ts [pg]',
      'ts [TypeORM]',
      'ts [Prisma]',
    ]);
  });

  it('leaves no code of README.md out', () => {
    expect(blocksOf('README.md').filter(({ language }) => language === 'ts')).toHaveLength(3);
    expect(blocksOf('docs/index.md')).toEqual([]);
  });

  it('has the figures of the page on performance', () => {
    const cell = (heading: string, subject: string, column: string): string | undefined =>
      tableUnder('docs/performance.md', heading)
        .find((row) => row[''] === subject)
        ?.[column]?.replace(/ \(.*\)$/, '');
    const drain = (subject: string): string | undefined =>
      cell('Draining 100,000 rows', subject, '1 process, rows/s');
    const [drained, latency, transactions] = figures();
    expect(drained?.value).toBe(`${drain('postcommit, store-pg')} rows/s`);
    expect(drained?.text).toContain(`reach ${drain('raw SQL limit, two connections')}`);
    expect(latency?.value).toBe(
      `${cell('Commit to publish on an idle system', 'postcommit, store-pg', 'p50, ms')} ms`,
    );
    expect(transactions?.value).toBe(
      cell(
        'A business transaction with one message',
        'postcommit, store-pg',
        '10 at once, of without, ratio',
      ),
    );
  });
});

describe('llms.txt', () => {
  const lines = [...llmsTxt().matchAll(/^- \[(.+)\]\((.+)\): (.+\.)$/gm)];

  it('has every page of the side bar, in its order, with a description', () => {
    expect(pages.length).toBeGreaterThan(60);
    expect(lines.map(([, text, file]) => ({ text, file }))).toEqual(
      pages.map(({ text, link = '' }) => ({ text, file: sourceOf(link) })),
    );
    const descriptions = lines.map(([, , , description]) => description);
    expect(new Set(descriptions).size).toBe(descriptions.length);
  });

  it('describes each page that a person wrote, except decisions, in words of its own', () => {
    const links = pages.flatMap(({ link = '' }) =>
      isApi(link) || link.startsWith('/decisions/') ? [] : [link],
    );
    expect(Object.keys(descriptions).sort()).toEqual(links.sort());
  });

  it('leads to files that there are, and their addresses lead back', () => {
    for (const { link = '' } of pages) {
      if (!isApi(link)) expect(existsSync(`${root}/docs/${sourceOf(link)}`), link).toBe(true);
      expect(linkOf(sourceOf(link))).toBe(link);
    }
  });

  it('has a long form with the text of every page that a person wrote', () => {
    const full = llmsFullTxt();
    const written = pageNames().filter((page) => page.startsWith('docs/') && page !== 'docs/index.md');
    expect(written.filter((page) => !full.includes(readPage(page)))).toEqual([]);
  });
});

/** The fences of a region of README.md, as they begin; all else in it is left out. */
function fencesIn(region: string): string[] {
  const [, text = ''] = readPage('README.md').split(new RegExp(`^<!-- (?:end)?region ${region} -->$`, 'm'));
  return [...text.matchAll(/^```(.+)$/gm)].map(([, info = '']) => info);
}

/**
 * Every `ts` block of docs/, README.md, CONTRIBUTING.md and the packages' READMEs is type-checked, strictly, against the source
 * of the packages. How to write one:
 *
 * - A block whose first line is a path (`// src/main.ts`) is a whole file. It sees its own imports and the other files of its
 *   page, and nothing else.
 * - Any other block is a fragment. It sees what the blocks before it on the page declare or import, then the names in
 *   documentation/preambles: those of every page, and those of its own page (`docs-guides-retries.ts`), which win.
 * - A block that declares topics for `@postcommit/core` changes the types of everybody, so it is compiled on its own.
 * - What can't be compiled stands in documentation/exceptions.ts, with the reason.
 */
import { describe, expect, it } from 'vitest';
import { modulesOf } from './block-modules.js';
import { compileBlocks, type Problem, runningApplication } from './compile-blocks.js';
import { exceptions, isExcepted } from './exceptions.js';
import { type Block, blocksOf, pageNames } from './pages.js';

const patience = { timeout: 120_000 };
const blocks = pageNames().flatMap(blocksOf);
const code = blocks.filter(({ language }) => language === 'ts');
const declaresTopics = (block: Block): boolean => block.code.includes("declare module '@postcommit/core'");

function compile(chosen: readonly Block[], others: readonly string[] = []): Problem[] {
  const pages = [...new Set(chosen.map(({ page }) => page))];
  return compileBlocks(
    pages.flatMap((page) =>
      modulesOf(
        page,
        chosen.filter((block) => block.page === page),
      ),
    ),
    others,
  );
}

describe('the code on every page', () => {
  it('compiles, except for the listed exceptions', patience, () => {
    const found = compile(
      code.filter((block) => !declaresTopics(block)),
      [runningApplication],
    );
    expect(found.filter(({ block }) => !block || !isExcepted(block)).map(({ text }) => text)).toEqual([]);
    const needless = exceptions.filter(
      ({ page, containing }) =>
        !found.some(({ block }) => block?.page === page && block.code.includes(containing)),
    );
    expect(needless, 'what compiles needs no exception').toEqual([]);
  });

  it.each(code.filter(declaresTopics).map((block) => ({ block, where: `${block.page}:${block.line}` })))(
    'compiles if it declares topics: $where',
    patience,
    ({ block }) => {
      expect(compile([block])).toEqual([]);
    },
  );

  it('is marked with a language that a test covers', () => {
    const known = ['ts', 'sh', 'sql', 'prisma', 'text', ''];
    const others = blocks.filter(({ language }) => !known.includes(language));
    expect(others.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
  });
});

describe('the check itself', () => {
  const block = (text: string): Block => ({ page: 'docs/example.md', line: 10, language: 'ts', code: text });
  const texts = (chosen: Block[]): string[] => compile(chosen).map(({ text }) => text);

  it('reports a wrong option, an unknown name and a wrong argument, with their lines', patience, () => {
    const found = texts([
      block('OutboxModule.forRoot({\n  publisher,\n  maxTries: 5,\n});'),
      block('const rows = await app.get(OutboxStore).fetchPendingRows(5);'),
      block('await app.get(OutboxStore).requeue(7);'),
    ]);
    expect(found).toEqual([
      expect.stringMatching(/^docs\/example\.md:13 TS2353: .*'maxTries'/),
      expect.stringMatching(/^docs\/example\.md:11 TS\d+: .*'fetchPendingRows'/),
      expect.stringMatching(/^docs\/example\.md:11 TS2345: /),
    ]);
  });

  it('lets a fragment use the blocks before it, and a file only itself', patience, () => {
    const declared = block('const limit: number = 5;');
    expect(texts([declared, block('const text: string = limit;')])).toEqual([
      expect.stringContaining("TS2322: Type 'number' is not assignable to type 'string'"),
    ]);
    expect(texts([declared, block('// src/main.ts\nconsole.log(limit, app);')])).toEqual([
      expect.stringContaining("TS2304: Cannot find name 'limit'"),
      expect.stringContaining("TS2304: Cannot find name 'app'"),
    ]);
  });
});

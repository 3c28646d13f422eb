import { readFileSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { descriptions } from './descriptions.js';
import { home } from './home.js';
import { sidebar } from './sidebar.js';

const docs = fileURLToPath(new URL('../', import.meta.url));

interface Item {
  readonly text?: string;
  readonly link?: string;
  readonly items?: readonly Item[];
}

/** Writes what programs read: `llms.txt`, `llms-full.txt`, and each page as the Markdown that it is made of. */
export async function writeForPrograms(outDir: string): Promise<void> {
  await writeFile(join(outDir, 'llms.txt'), llmsTxt());
  await writeFile(join(outDir, 'llms-full.txt'), llmsFullTxt());
  for (const { link = '' } of pagesIn(sidebar())) {
    const file = join(outDir, sourceOf(link));
    await mkdir(dirname(file), { recursive: true });
    await copyFile(join(docs, sourceOf(link)), file);
  }
}

/** The pages in the order of the side bar, a line each. */
export function llmsTxt(): string {
  const groups = sidebar().map(
    ({ text, items = [] }) => `## ${text}\n\n${pagesIn(items).map(lineOf).join('\n')}\n`,
  );
  return `# ${home.hero.name}\n\n> ${home.hero.text}. ${home.hero.tagline}\n\n${groups.join('\n')}`;
}

/** The text of all pages that a person wrote. */
export function llmsFullTxt(): string {
  return pagesIn(sidebar())
    .filter(({ link }) => !isApi(link))
    .map(({ link = '' }) => `<!-- ${sourceOf(link)} -->\n\n${read(sourceOf(link))}`)
    .join('\n');
}

export function pagesIn(items: readonly Item[]): Item[] {
  return items.flatMap((item) => [...(item.link ? [item] : []), ...pagesIn(item.items ?? [])]);
}

/** The file of a page, from the folder of the documentation. */
export function sourceOf(link: string): string {
  const path = link.slice(1);
  if (path === 'decisions/') return 'decisions/README.md';
  return path.endsWith('/') ? `${path}index.md` : `${path}.md`;
}

/** The address of a page, from its file. */
export function linkOf(file: string): string {
  return `/${file.replace(/\.md$/, '').replace(/(^|\/)(index|README)$/, '$1')}`;
}

function lineOf({ text, link = '' }: Item): string {
  return `- [${text}](${sourceOf(link)}): ${descriptionOf(link)}`;
}

function isApi(link = ''): boolean {
  return link.startsWith('/reference/api/');
}

/** A package describes itself; a decision begins with its context. */
export function descriptionOf(link: string): string {
  if (link === '/reference/api/') return 'The public names of every package.';
  if (isApi(link)) return JSON.parse(read(`../packages/${link.split('/').at(-1)}/package.json`)).description;
  return descriptions[link] ?? firstSentence(read(sourceOf(link)));
}

function firstSentence(decision: string): string {
  const prose = decision.replace(/^# .*|^Date: .*|\*\*Context\.\*\* /gm, '').trim();
  return /^[^.:]*(?:[.:]\S[^.:]*)*/.exec(prose.replace(/\s+/g, ' '))?.[0].concat('.') ?? '';
}

function read(path: string): string {
  return readFileSync(join(docs, path), 'utf8');
}

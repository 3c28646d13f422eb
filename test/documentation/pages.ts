import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root: string = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of a page. */
export interface Block {
  /** From the repository's root: `docs/guides/retries.md`. */
  readonly page: string;
  /** Of the fence, counted from 1. */
  readonly line: number;
  /** The first word behind the fence; empty where there is none. */
  readonly language: string;
  readonly code: string;
}

/** Every page that a person wrote: what is generated is checked where it is generated. */
export function pageNames(): string[] {
  const docs = readdirSync(`${root}/docs`, { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => path.endsWith('.md') && !/(^|\/)(node_modules|\.vitepress)\/|^reference\/api\//.test(path),
    )
    .map((path) => `docs/${path}`);
  const packages = readdirSync(`${root}/packages`).map((name) => `packages/${name}/README.md`);
  return ['README.md', 'CONTRIBUTING.md', ...docs, ...packages].sort();
}

export function readPage(page: string): string {
  return readFileSync(`${root}/${page}`, 'utf8');
}

export function blocksOf(page: string): Block[] {
  const text = readPage(page);
  return [...text.matchAll(/^( *)```([^\n]*)\n([\s\S]*?)^\1```$/gm)].map((fence) => {
    const [, indent = '', info = '', code = ''] = fence;
    return {
      page,
      line: text.slice(0, fence.index).split('\n').length,
      language: info.split(' ')[0] ?? '',
      code: code.replace(new RegExp(`^${indent}`, 'gm'), ''),
    };
  });
}

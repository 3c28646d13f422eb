import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readPackages } from '../architecture/workspace.js';

/** A user of NestJS has these; npm would bring them anyway. */
const TAKEN_FOR_GRANTED = ['@nestjs/common', '@nestjs/core'];

const packages = readPackages().map(({ folder, manifest }) => ({
  name: `@postcommit/${folder}`,
  manifest,
  readme: readFileSync(new URL(`../../packages/${folder}/README.md`, import.meta.url), 'utf8'),
}));

describe.each(packages)('the README of $name', ({ name, manifest, readme }) => {
  it('begins with its name, and shows how to install it with its peers', () => {
    expect(readme.startsWith(`# ${name}\n`)).toBe(true);
    const [, line = ''] = /^npm install (.*)$/m.exec(readme) ?? [];
    const optional = Object.keys(manifest.peerDependenciesMeta ?? {});
    const peers = Object.keys(manifest.peerDependencies ?? {}).filter((peer) => !optional.includes(peer));
    const needed = [name, ...peers].filter((peer) => !TAKEN_FOR_GRANTED.includes(peer));
    expect(line.split(' ')).toEqual(expect.arrayContaining(needed));
  });

  it('starts with a minimal example', () => {
    const blocks = [...readme.matchAll(/^```(\w*)$/gm)].map(([, language]) => language).filter(Boolean);
    expect(blocks[0]).toBe('sh');
    expect(blocks).toContain('ts');
  });

  it('has a table of its options, each with its meaning', () => {
    const headings = readme.match(/^\|.*\|\n\| -/gm) ?? [];
    expect(headings.some((heading) => /\| *(option|part of the harness)/.test(heading))).toBe(true);
  });
  // npm leads relative links to the repository, to the folder that the manifest names.
  it('links to files and headings that there are', () => {
    const { directory } = manifest.repository as { directory: string };
    const home = new URL(`../../${directory}/`, import.meta.url);
    const links = [...readme.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => link);
    expect(links).not.toEqual([]);
    expect(links.filter((link) => !leadsSomewhere(new URL(link, home)))).toEqual([]);
  });
});

function leadsSomewhere({ pathname, hash }: URL): boolean {
  if (!existsSync(pathname) || hash === '') return existsSync(pathname);
  const headings = readFileSync(pathname, 'utf8').match(/^#+ .*$/gm) ?? [];
  return headings.some((heading) => `#${anchorOf(heading)}` === hash);
}

/** As GitHub makes it. */
function anchorOf(heading: string): string {
  const words = heading.replace(/^#+ /, '').toLowerCase();
  return words.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

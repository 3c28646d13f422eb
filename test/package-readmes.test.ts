import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readPackages } from './architecture/workspace.js';

/** A user of NestJS has these; npm would bring them anyway. */
const TAKEN_FOR_GRANTED = ['@nestjs/common', '@nestjs/core'];

const packages = readPackages().map(({ folder, manifest }) => ({
  name: `@postcommit/${folder}`,
  manifest,
  readme: readFileSync(new URL(`../packages/${folder}/README.md`, import.meta.url), 'utf8'),
}));

describe.each(packages)('the README of $name', ({ name, manifest, readme }) => {
  it('begins with its name, and says how to install it with what it needs', () => {
    expect(readme.startsWith(`# ${name}\n`)).toBe(true);
    const [, line = ''] = /^npm install (.*)$/m.exec(readme) ?? [];
    const optional = Object.keys(manifest.peerDependenciesMeta ?? {});
    const peers = Object.keys(manifest.peerDependencies ?? {}).filter((peer) => !optional.includes(peer));
    const needed = [name, ...peers].filter((peer) => !TAKEN_FOR_GRANTED.includes(peer));
    expect(line.split(' ')).toEqual(expect.arrayContaining(needed));
  });

  it('shows its smallest use before anything else', () => {
    const blocks = [...readme.matchAll(/^```(\w*)$/gm)].map(([, language]) => language).filter(Boolean);
    expect(blocks[0]).toBe('sh');
    expect(blocks).toContain('ts');
  });

  it('has a table of its options, each with what it means', () => {
    const headings = readme.match(/^\|.*\|\n\| -/gm) ?? [];
    expect(headings.some((heading) => /\| *(option|part of the harness)/.test(heading))).toBe(true);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPackages } from '../architecture/workspace.js';
import { packages, privateManifests, ReleaseCopy } from './release-copy.js';

const names = readPackages().map(({ folder }) => `@postcommit/${folder}`);
const current = String(readPackages()[0]?.manifest.version);
const patience = 120_000;

const folder = new URL('../../.changeset/', import.meta.url);
/** The changesets that wait: which packages each names, and how it changes them. */
const waiting = readdirSync(folder)
  .filter((file) => file.endsWith('.md'))
  .map((file) => {
    const [, heading = '', words = ''] = readFileSync(new URL(file, folder), 'utf8').split(/^---$/m);
    const named = [...heading.matchAll(/^'(.+)': (major|minor|patch)$/gm)];
    return { file, words: words.trim(), named: named.map(([, name = '', bump = '']) => ({ name, bump })) };
  });

function bumped(version: string, bump: string): string {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (bump === 'major') return `${major + 1}.0.0`;
  return bump === 'minor' ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

describe('the changesets that wait', () => {
  const bumps = waiting.flatMap(({ named }) => named.map(({ bump }) => bump));
  const highest = ['major', 'minor', 'patch'].find((bump) => bumps.includes(bump));
  const next = highest ? bumped(current, highest) : current;
  let copy: ReleaseCopy;

  beforeAll(async () => {
    copy = await ReleaseCopy.create();
    await copy.version();
  }, patience);
  afterAll(() => copy?.remove());

  it('name only packages that exist', () => {
    for (const { file, named } of waiting) {
      expect(named, file).not.toEqual([]);
      expect(names, file).toEqual(expect.arrayContaining(named.map(({ name }) => name)));
    }
  });

  it.skipIf(current !== '0.0.0')('make 0.1.0 the first release, and say something of each package', () => {
    expect(next).toBe('0.1.0');
    const named = waiting.flatMap((changeset) => changeset.named.map(({ name }) => name));
    expect([...new Set(named)].sort()).toEqual(names);
  });

  it('are short: up to three sentences for an effect', () => {
    const long = waiting.flatMap(({ file, words }) =>
      words
        .split('\n\n')
        .filter((effect) => (effect.match(/[.!?](?=\s|$)/g) ?? []).length > 3)
        .map((effect) => `${file}: ${effect}`),
    );
    expect(long).toEqual([]);
  });

  it('move every package to one version', async () => {
    const versions = await Promise.all(packages.map(async (path) => (await copy.manifest(path)).version));
    expect(new Set(versions)).toEqual(new Set([next]));
  });

  it('can be published: pnpm would publish every package', { timeout: patience }, async () => {
    expect((await copy.publishDryRun()).sort()).toEqual(names.map((name) => `${name}@${next}`));
  });

  it('leave no range of the workspace in what is packed', { timeout: patience }, async () => {
    const packed = await copy.packedManifests();
    expect(packed.map(({ name }) => name).sort()).toEqual(names);
    for (const manifest of packed) {
      const { name, dependencies, peerDependencies, optionalDependencies } = manifest;
      expect(manifest.devDependencies, name).toBeUndefined();
      const ranges = Object.entries({ ...dependencies, ...peerDependencies, ...optionalDependencies });
      const unpublished = ranges.filter(([, range]) =>
        /^(workspace|catalog|link|file):|\b0\.0\.0/.test(range),
      );
      expect(unpublished, name).toEqual([]);
      const siblings = ranges.filter(([dependency]) => dependency.startsWith('@postcommit/'));
      for (const [sibling, range] of siblings) expect([next, `^${next}`], sibling).toContain(range);
    }
  });
});

const CHANGESET = `---
'@postcommit/cli': patch
'@postcommit/retention': patch
---

A stopped worker released its claims late: the release waited for the poll.
It is sent at once now.

Nothing is to be done.
`;

/** As `changeset version` writes it. */
const ENTRY = `### Patch Changes

- A stopped worker released its claims late: the release waited for the poll.
  It is sent at once now.

  Nothing is to be done.
`;

describe('a release', () => {
  let copy: ReleaseCopy;
  let before: string[];

  const readPrivate = (): Promise<string[]> => Promise.all(privateManifests.map((path) => copy.read(path)));

  beforeAll(async () => {
    copy = await ReleaseCopy.create({ 'stopped-worker.md': CHANGESET });
    before = await readPrivate();
    await copy.version();
  }, patience);
  afterAll(() => copy?.remove());

  it('has one new version for all packages, and leaves the private ones alone', async () => {
    for (const path of packages) expect((await copy.manifest(path)).version).toBe(bumped(current, 'patch'));
    expect(before.length).toBeGreaterThan(10);
    expect(await readPrivate()).toEqual(before);
    await expect(copy.read('.changeset/stopped-worker.md')).rejects.toThrow('ENOENT');
  });

  it('puts the words of a changeset into the change logs of the packages that it names', async () => {
    for (const path of packages) {
      const { name = '', version } = await copy.manifest(path);
      const isNamed = ['@postcommit/cli', '@postcommit/retention'].includes(name);
      const log = await copy.read(`${path}/CHANGELOG.md`);
      expect(log).toBe(`# ${name}\n\n## ${version}\n${isNamed ? `\n${ENTRY}` : ''}`);
    }
  });

  // A store is a peer of the command line, and a new version of a peer would count as a breaking change.
  it('is a minor one when a store changes in a minor way', async () => {
    const { version = '' } = await copy.manifest('packages/store-pg');
    await copy.addChangeset('minor.md', "---\n'@postcommit/store-pg': minor\n---\n\nFaster.\n");
    await copy.version();
    for (const path of packages) expect((await copy.manifest(path)).version).toBe(bumped(version, 'minor'));
  });
});

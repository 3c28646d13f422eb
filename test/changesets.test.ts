import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPackages } from './architecture/workspace.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const changesetBin = join(root, 'node_modules/@changesets/cli/bin.js');
const packages = readPackages().map(({ folder }) => join('packages', folder));

const CHANGESET = `---
'@postcommit/cli': patch
'@postcommit/retention': patch
---

A stopped worker gave its claims back late: the release waited for the poll.
It is sent at once now.

Nothing is to be done.
`;

/** As `changeset version` writes it. */
const ENTRY = `### Patch Changes

- A stopped worker gave its claims back late: the release waited for the poll.
  It is sent at once now.

  Nothing is to be done.
`;

let folder: string;
let privateManifests: Map<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postcommit-changesets-'));
  const others = (await Promise.all(['examples', '.'].map(manifestsBelow))).flat();
  const manifests = [...packages.map((path) => join(path, 'package.json')), ...others];
  for (const path of [
    ...manifests,
    'pnpm-workspace.yaml',
    '.changeset/config.json',
    '.changeset/changelog.cjs',
  ])
    await cp(join(root, path), join(folder, path), { recursive: true });
  await writeFile(join(folder, '.changeset/stopped-worker.md'), CHANGESET);
  privateManifests = await read(others);
  // A git repository, as in real life: without one the command complains, but goes on.
  await run('git', ['init', '--quiet'], { cwd: folder });
  await run(process.execPath, [changesetBin, 'version'], { cwd: folder });
}, 60_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

it('a release gives all packages one new version, and leaves the private ones alone', async () => {
  const versions = await Promise.all(packages.map(async (path) => (await manifest(path)).version));
  expect(new Set(versions).size).toBe(1);
  expect(versions[0]).not.toBe(readPackages()[0]?.manifest.version);
  expect(await read([...privateManifests.keys()])).toEqual(privateManifests);
  expect(existsSync(join(folder, '.changeset/stopped-worker.md'))).toBe(false);
});

it('a change log has the words of the changeset, in the packages that it names', async () => {
  for (const path of packages) {
    const { name, version } = await manifest(path);
    const isNamed = ['@postcommit/cli', '@postcommit/retention'].includes(name);
    const log = await readFile(join(folder, path, 'CHANGELOG.md'), 'utf8');
    expect(log).toBe(`# ${name}\n\n## ${version}\n${isNamed ? `\n${ENTRY}` : ''}`);
  }
});

// A store is a peer of the command line, and a new version of a peer would count as a breaking change.
it('a minor change of a store is a minor release', async () => {
  const { version } = await manifest('packages/store-pg');
  const [major, minor] = version.split('.').map(Number);
  await writeFile(
    join(folder, '.changeset/minor.md'),
    "---\n'@postcommit/store-pg': minor\n---\n\nFaster.\n",
  );
  await run(process.execPath, [changesetBin, 'version'], { cwd: folder });
  for (const path of packages) expect((await manifest(path)).version).toBe(`${major}.${Number(minor) + 1}.0`);
});

it('the changesets that wait name only packages that exist', async () => {
  const names = readPackages().map(({ folder: name }) => `@postcommit/${name}`);
  const waiting = (await readdir(join(root, '.changeset'))).filter((file) => file.endsWith('.md'));
  for (const file of waiting) {
    const [, heading = ''] = (await readFile(join(root, '.changeset', file), 'utf8')).split(/^---$/m);
    const named = [...heading.matchAll(/^'(.+)': (?:major|minor|patch)$/gm)].map(([, name]) => name);
    expect(named, file).not.toEqual([]);
    expect(names, file).toEqual(expect.arrayContaining(named));
  }
});

async function manifestsBelow(parent: string): Promise<string[]> {
  const entries = await readdir(join(root, parent), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => join(parent, entry.name));
  return [parent, ...folders]
    .map((path) => join(path, 'package.json'))
    .filter((path) => existsSync(join(root, path)));
}

async function manifest(path: string): Promise<{ name: string; version: string }> {
  return JSON.parse(await readFile(join(folder, path, 'package.json'), 'utf8'));
}

async function read(paths: readonly string[]): Promise<Map<string, string>> {
  return new Map(
    await Promise.all(
      paths.map(async (path) => [path, await readFile(join(folder, path), 'utf8')] as [string, string]),
    ),
  );
}

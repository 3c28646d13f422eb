import { readFile } from 'node:fs/promises';
import { checkPackage, createPackageFromTarballData, type Package } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { beforeAll, describe, expect, it } from 'vitest';
import { extraFiles } from '../architecture/shape-rules.js';
import { readPackages } from '../architecture/workspace.js';
import { packAll } from './packed-packages.js';

const names = readPackages().map(({ folder }) => `@postcommit/${folder}`);
const patience = { timeout: 60_000 };

let tarballs: Map<string, string>;

beforeAll(async () => {
  tarballs = await packAll();
}, patience.timeout);

it('every package is packed, and nothing else', () => {
  expect(new Set(tarballs.keys())).toEqual(new Set(names));
});

describe.each(names)('%s, packed', (name) => {
  const tarball = (): Promise<Buffer> => readFile(tarballs.get(name) ?? '');

  it('satisfies publint', patience, async () => {
    const data = new Uint8Array(await tarball()).buffer;
    const { messages, pkg } = await publint({ pack: { tarball: data }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg) ?? message.code)).toEqual([]);
  });

  it('has the right types for every way to import it', patience, async () => {
    const result = await checkPackage(createPackageFromTarballData(await tarball()));
    expect(result).toMatchObject({ types: { kind: 'included' }, problems: [] });
  });

  it('contains the build, its README and its licence, and nothing else', async () => {
    const packed = createPackageFromTarballData(await tarball());
    const extra = extraFiles[name.replace('@postcommit/', '')] ?? [];
    expect(topOf(packed)).toEqual(new Set(['LICENSE', 'README.md', 'dist', 'package.json', ...extra]));
  });

  it('depends on real versions instead of workspace links', async () => {
    const packed = createPackageFromTarballData(await tarball());
    expect(packed.readFile(`/node_modules/${name}/package.json`)).not.toMatch(/"(workspace|catalog):/);
  });
});

/** The files of a package, where `dist` stands for those in it that the build is meant to write. */
function topOf(packed: Package): Set<string> {
  const folder = `/node_modules/${packed.packageName}/`;
  const files = packed.listFiles(folder).map((path) => path.slice(folder.length));
  return new Set(files.map((file) => file.replace(/^dist\/[\w-]+\.(c?js|d\.c?ts)$/, 'dist')));
}

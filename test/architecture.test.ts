import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  type Allowance,
  forbiddenDependencies,
  forbiddenImports,
  forbiddenRoomImports,
  importCycles,
  type Rooms,
  unknownRooms,
} from './architecture/dependency-rules.js';
import {
  consoleProblems,
  indexProblems,
  manifestProblems,
  originProblems,
  sharedFields,
  unfinishedWork,
  versionProblems,
} from './architecture/shape-rules.js';
import { readPackages, type WorkspacePackage } from './architecture/workspace.js';

/** The picture of the architecture: every package, and all that it may depend on. Arrows point to the core. */
const table: Readonly<Record<string, Allowance>> = {
  core: {},
  'store-sql': { siblings: ['core'] },
  'store-memory': { siblings: ['core'] },
  'store-pg': { siblings: ['core', 'store-sql'], peers: ['pg'] },
  'store-typeorm': { siblings: ['core', 'store-sql'], peers: ['typeorm'] },
  'store-prisma': { siblings: ['core', 'store-sql'] },
  'store-testkit': { siblings: ['core'], peers: ['vitest'] },
  'publisher-events': { siblings: ['core'] },
  scheduler: { siblings: ['core'], dependencies: ['croner'] },
  retention: { siblings: ['core', 'scheduler'] },
  cli: {
    siblings: ['core'],
    dependencies: ['commander', 'jiti'],
    optionalPeers: ['@postcommit/store-pg', 'pg'],
  },
  telemetry: { siblings: ['core'], peers: ['@opentelemetry/api'] },
  'scheduled-messages': { siblings: ['core', 'publisher-events'] },
  nestjs: { siblings: ['core', 'publisher-events', 'store-prisma'], peers: ['@nestjs/*'] },
};

/** The rooms of the packages that have some, each with the rooms that it may import from. */
const rooms: Readonly<Record<string, Rooms>> = {
  core: {
    message: [],
    modules: ['message'],
    observe: ['message', 'modules'],
    enqueue: ['message', 'modules', 'observe'],
    store: ['message', 'modules', 'observe', 'enqueue'],
    publish: ['message', 'modules', 'observe'],
    dispatch: ['message', 'modules', 'observe', 'enqueue', 'store', 'publish'],
    worker: ['message', 'modules', 'observe', 'store', 'publish', 'dispatch'],
  },
};

const packages = readPackages();

describe('the packages of this repository', () => {
  it('include the core', () => {
    expect(packages.map(({ folder }) => folder)).toContain('core');
  });

  it('all have a line in the table', () => {
    expect(packages.map(({ folder }) => folder).filter((folder) => !Object.hasOwn(table, folder))).toEqual(
      [],
    );
  });

  it('declare only dependencies that the table allows', () => {
    const problems = packages.flatMap(({ folder, manifest }) =>
      forbiddenDependencies(manifest, table[folder] ?? {}),
    );
    expect(problems).toEqual([]);
  });

  it('import only what they declare, by its public name', () => {
    expect(packages.flatMap(forbiddenImports)).toEqual([]);
  });

  it('import from room to room in one direction', () => {
    expect(packages.flatMap((pkg) => unknownRooms(pkg, rooms[pkg.folder] ?? everyFolder(pkg)))).toEqual([]);
    expect(packages.flatMap((pkg) => forbiddenRoomImports(pkg, rooms[pkg.folder] ?? {}))).toEqual([]);
  });

  it('have no import cycle, not even of types', () => {
    expect(packages.flatMap(importCycles)).toEqual([]);
  });

  it('keep nothing at the root of core but its index and the two ways to wire it', () => {
    const core = packages.find(({ folder }) => folder === 'core');
    const atRoot = core?.sources.map(({ path }) => path).filter((path) => path.split('/').length === 2);
    expect(atRoot).toEqual(['src/create-outbox.ts', 'src/index.ts', 'src/outbox-module.ts']);
  });

  it('list their public names by hand in src/index.ts', () => {
    expect(packages.flatMap(indexProblems)).toEqual([]);
  });

  it('share one shape of package.json and are named after their folders', () => {
    expect(packages.flatMap(manifestProblems)).toEqual([]);
  });

  it('say where their source lives, as the root does', () => {
    const root = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    expect(packages.flatMap((pkg) => originProblems(pkg, root))).toEqual([]);
  });

  it('share one version', () => {
    expect(versionProblems(packages)).toEqual([]);
  });

  it('each have a README, and the licence that is packed with each lies at the root', () => {
    expect(packages.filter(({ hasReadme }) => !hasReadme).map(({ folder }) => folder)).toEqual([]);
    expect(existsSync(new URL('../LICENSE', import.meta.url))).toBe(true);
  });

  it('never write to the console, except for the command line', () => {
    expect(packages.flatMap(consoleProblems)).toEqual([]);
  });

  it('hold no note of work left undone', () => {
    expect(packages.flatMap(unfinishedWork)).toEqual([]);
  });
});

describe('the rules above', () => {
  const example = (source: string, changes: Partial<WorkspacePackage> = {}): WorkspacePackage => ({
    folder: 'store-memory',
    manifest: {
      name: '@postcommit/store-memory',
      version: '1.0.0',
      dependencies: { '@postcommit/core': '1' },
    },
    hasReadme: true,
    sources: [{ path: 'src/index.ts', text: source }],
    tests: [],
    ...changes,
  });

  it.each([
    [{ dependencies: { lodash: '4' } }, 'dependency lodash'],
    [{ dependencies: { '@postcommit/store-sql': '1' } }, 'dependency @postcommit/store-sql'],
    [{ peerDependencies: { pg: '8' } }, 'peer pg'],
    [{ optionalDependencies: { pg: '8' } }, 'optional dependency pg'],
    [{ peerDependencies: { x: '1' }, peerDependenciesMeta: { x: { optional: true } } }, 'optional peer x'],
    // Allowed as a peer is not allowed as a dependency, or every app would get a second driver.
    [{ dependencies: { typeorm: '1' } }, 'dependency typeorm'],
  ])('refuse the dependencies %j', (manifest, problem) => {
    const found = forbiddenDependencies(
      { name: 'example', ...manifest },
      { siblings: ['core'], peers: ['typeorm'] },
    );
    expect(found).toEqual([`example: ${problem} is not in the table`]);
  });

  it('allow a whole scope where the table says so, and nothing that only begins like it', () => {
    const peerDependencies = { '@nestjs/common': '12', '@nestjs-like/common': '1' };
    const found = forbiddenDependencies({ name: 'example', peerDependencies }, { peers: ['@nestjs/*'] });
    expect(found).toEqual(['example: peer @nestjs-like/common is not in the table']);
  });

  it.each([
    "import { a } from 'undeclared';",
    "import type { A } from 'undeclared';",
    "import 'undeclared/side-effect';",
    "export { a } from 'undeclared';",
    "export type * from 'undeclared';",
    "type A = import('undeclared').A;",
    "const a = await import('undeclared');",
    'const a = await import(name);',
    "const a = require('undeclared');",
    "const a = require.resolve('undeclared');",
    "import a = require('undeclared');",
    "declare module 'undeclared' { interface A {} }",
    '/// <reference types="undeclared" />',
    "import { a } from '@postcommit/store-sql';",
    "import { a } from '@postcommit/core/src/decide.js';",
    "import { a } from '@postcommit/core/dist/index.js';",
    "import { a } from '../../core/src/decide.js';",
    "import { a } from '../test/harness.js';",
    "import { a } from 'crypto';",
  ])('refuse %s', (source) => {
    expect(forbiddenImports(example(source))).toHaveLength(1);
  });

  it('refuse an import against the direction of the rooms, and of a file above them', () => {
    const table: Rooms = { message: [], worker: ['message'] };
    const pkg = (path: string, source: string): WorkspacePackage =>
      example('', { sources: [{ path, text: source }] });
    const wrong = pkg('src/message/row.ts', "import type { A } from '../worker/loop.js';");
    const above = pkg('src/message/row.ts', "import { a } from '../index.js';");
    const right = pkg(
      'src/worker/loop.ts',
      "import { a } from '../message/row.js';\nimport { b } from './pace.js';",
    );
    expect(forbiddenRoomImports(wrong, table)).toEqual([
      'store-memory/src/message/row.ts imports src/worker/loop.ts',
    ]);
    expect(forbiddenRoomImports(above, table)).toEqual([
      'store-memory/src/message/row.ts imports src/index.ts',
    ]);
    expect(forbiddenRoomImports(right, table)).toEqual([]);
    expect(unknownRooms(pkg('src/attic/old.ts', ''), table)).toEqual(['attic']);
  });

  it('find a cycle of types', () => {
    const sources = [
      { path: 'src/a.ts', text: "import type { B } from './b.js';" },
      { path: 'src/b.ts', text: "import type { A } from './a.js';" },
    ];
    expect(importCycles(example('', { sources }))).toEqual([
      'store-memory: src/a.ts -> src/b.ts -> src/a.ts',
    ]);
  });

  it('refuse a built-in that opens files or sockets in the core, and allow it elsewhere', () => {
    const source = "import { readFile } from 'node:fs/promises';\nimport { randomBytes } from 'node:crypto';";
    expect(forbiddenImports(example(source, { folder: 'core' }))).toHaveLength(1);
    expect(forbiddenImports(example(source))).toEqual([]);
  });

  it('allow imports of declared packages and of own files, and are not misled by comments and strings', () => {
    const source = `
      import { decide } from '@postcommit/core';
      import { clock } from './clock/virtual-clock.js';
      // import { a } from 'undeclared';
      const text = "require('undeclared')";`;
    expect(forbiddenImports(example(source))).toEqual([]);
  });

  it.each([
    "export * from './a.js';",
    "export * as a from './a.js';",
    "export { default } from './a.js';",
    "export { a as default } from './a.js';",
    'export default 1;',
    'export const a = 1;',
    "import './a.js';",
  ])('refuse %s in an index', (source) => {
    expect(indexProblems(example(source))).toHaveLength(1);
  });

  it('refuse a package without an index, and allow names listed by hand', () => {
    expect(indexProblems(example('', { sources: [] }))).toHaveLength(1);
    expect(indexProblems(example("export { a } from './a.js';\nexport type { B } from './b.js';"))).toEqual(
      [],
    );
  });

  it.each([
    ['name', '@postcommit/other', 'name'],
    ['type', 'commonjs', 'type'],
    ['sideEffects', true, 'sideEffects'],
    ['files', ['dist', 'src'], 'files'],
    ['engines', { node: '>=18' }, 'engines'],
    ['exports', { '.': './dist/index.js' }, 'exports'],
    ['private', true, 'private'],
    ['bin', './dist/bin.js', 'binary'],
  ])('refuse a package.json whose %s is %j', (field, value, word) => {
    const right = {
      ...sharedFields,
      name: '@postcommit/store-memory',
      description: 'An example.',
      files: ['dist'],
    };
    expect(manifestProblems(example('', { manifest: right }))).toEqual([]);
    const problems = manifestProblems(example('', { manifest: { ...right, [field]: value } }));
    expect(problems).toEqual([expect.stringContaining(word)]);
  });

  it('refuse two versions', () => {
    expect(versionProblems([example(''), example('', { manifest: { version: '1.0.1' } })])).toHaveLength(2);
  });

  it('refuse the console, except in the command line and in comments', () => {
    const loud = "console.log('here');";
    expect(consoleProblems(example(loud))).toHaveLength(1);
    expect(consoleProblems(example("globalThis.console['log']();"))).toHaveLength(1);
    expect(consoleProblems(example(loud, { folder: 'cli' }))).toEqual([]);
    expect(consoleProblems(example('// console.log would be lost here'))).toEqual([]);
  });

  it('refuse a note of work left undone, in sources and in tests', () => {
    const note = { path: 'test/a.test.ts', text: `// ${'TO'}${'DO'}: later` };
    expect(unfinishedWork(example(note.text, { tests: [note] }))).toHaveLength(2);
  });
});

/** For packages without rooms: whatever folders they have. */
function everyFolder(pkg: WorkspacePackage): Rooms {
  return Object.fromEntries(pkg.sources.map(({ path }) => [path.split('/')[1] ?? '', []]));
}

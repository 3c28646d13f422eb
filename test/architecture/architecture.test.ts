import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  type Allowance,
  forbiddenDependencies,
  forbiddenImports,
  forbiddenRoomImports,
  importCycles,
  missingRooms,
  type Rooms,
  unknownRooms,
} from './dependency-rules.js';
import {
  consoleProblems,
  entryProblems,
  largeClasses,
  MOST_MEMBERS,
  manifestProblems,
  originProblems,
  sharedFields,
  unfinishedWork,
  versionProblems,
} from './shape-rules.js';
import { readPackages, type SourceFile, type WorkspacePackage } from './workspace.js';

/** The picture of the architecture: every package, and all that it may depend on. Arrows point to the core. */
const table: Readonly<Record<string, Allowance>> = {
  core: {},
  'store-sql': { siblings: ['core'] },
  'store-memory': { siblings: ['core'] },
  'store-pg': { siblings: ['core', 'store-sql'], peers: ['pg'] },
  'store-typeorm': { siblings: ['core', 'store-sql'], peers: ['typeorm'] },
  'store-prisma': { siblings: ['core', 'store-sql'], optionalPeers: ['pg'] },
  'store-testkit': { siblings: ['core'], peers: ['vitest'] },
  'publisher-events': { siblings: ['core'] },
  'publisher-webhook': { siblings: ['core'] },
  'publisher-rabbitmq': { siblings: ['core'], peers: ['amqplib'] },
  'publisher-nats': { siblings: ['core'], peers: ['@nats-io/*'] },
  'publisher-kafka': { siblings: ['core'], peers: ['@platformatic/kafka'] },
  'publisher-redis': { siblings: ['core'], peers: ['@redis/client'] },
  'publisher-bullmq': { siblings: ['core'], peers: ['bullmq'] },
  inbox: { siblings: ['core'] },
  'publisher-testkit': { siblings: ['core'], peers: ['vitest'] },
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

/** What every room of store-sql may import from, and what every dialect may. */
const SEAM = ['sql-statement.ts', 'table-name.ts', 'capability-statements.ts', 'dialect.ts'];
const DIALECT = [...SEAM, 'driver-errors.ts', 'table-origin.ts', 'claim'];

/** The rooms of the packages that have some, each with the rooms that it may import from. */
const rooms: Readonly<Record<string, Rooms>> = {
  core: {
    message: [],
    runtime: ['message'],
    modules: ['message', 'runtime'],
    observe: ['message', 'modules', 'runtime'],
    enqueue: ['message', 'modules', 'observe'],
    store: ['message', 'modules', 'runtime', 'observe', 'enqueue'],
    publish: ['message', 'modules', 'runtime', 'observe'],
    dispatch: ['message', 'modules', 'runtime', 'observe', 'enqueue', 'store', 'publish'],
    worker: ['message', 'modules', 'runtime', 'observe', 'store', 'publish', 'dispatch'],
  },
  'store-sql': {
    // What a statement is, and what a dialect has to say.
    'sql-statement.ts': [],
    'table-name.ts': [],
    'capability-statements.ts': ['sql-statement.ts', 'table-name.ts'],
    'dialect.ts': ['sql-statement.ts', 'table-name.ts', 'capability-statements.ts'],
    'run-work.ts': ['sql-statement.ts', 'dialect.ts'],
    // What dialects and the rooms above them both read: rows, errors, tables.
    'row-mapping.ts': ['sql-statement.ts', 'dialect.ts'],
    'driver-errors.ts': ['table-name.ts', 'dialect.ts', 'table-origin.ts'],
    'table-origin.ts': ['capability-statements.ts'],
    'at-most.ts': [],
    claim: [...SEAM, 'row-mapping.ts', 'driver-errors.ts', 'run-work.ts'],
    mysql: [...DIALECT],
    sqlite: [...DIALECT],
    postgres: [...DIALECT, 'at-most.ts', 'run-work.ts'],
    store: [...SEAM, 'row-mapping.ts', 'driver-errors.ts', 'at-most.ts', 'claim', 'postgres'],
    capabilities: [
      ...SEAM,
      'run-work.ts',
      'driver-errors.ts',
      'table-origin.ts',
      'claim',
      'store',
      'postgres',
    ],
  },
};

/** Classes with more than 20 members, and why they have them. */
const LARGE_CLASSES: Readonly<Record<string, string>> = {
  MemoryOutboxStore: 'the contract of a store, as one class that can be read from top to bottom',
  SqlOutboxStore: 'that contract; most methods only run a statement of the dialect',
  WorkerRun: 'the one owner of the state of a run: whatever it gave away would be written from two places',
  Breaker: 'the one owner of what is known about a destination; every field takes part in each decision',
  DedicatedSession: 'everything that can end a connection has to meet in one place',
};

/** What only some dialects of store-sql have, and why. All others have the same file names. */
const DIALECT_EXTRAS: Readonly<Record<string, string>> = {
  listen: 'only PostgreSQL can notify',
  'limited-query.ts': 'only on PostgreSQL does a limit need a statement of its own',
  'statement-limit.ts': 'SQLite has no server that could go on',
  'check-structure.ts': 'only PostgreSQL has partitions by inheritance, row security and cached sequences',
  'describe-table.ts': 'the catalog queries of check-schema.ts, where they are long',
  'keyed-lock.ts': 'only on PostgreSQL can anyone who connects hold the lock of keyed claims',
  'long-transactions.ts': 'SQLite has a single writer and lists no transactions',
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
    expect(packages.flatMap((pkg) => missingRooms(pkg, rooms[pkg.folder] ?? {}))).toEqual([]);
    expect(packages.flatMap((pkg) => forbiddenRoomImports(pkg, rooms[pkg.folder] ?? {}))).toEqual([]);
  });

  it('have no import cycle, not even of types', () => {
    expect(packages.flatMap(importCycles)).toEqual([]);
  });

  it('have one folder for each dialect, with the same files', () => {
    const sources = packages.find(({ folder }) => folder === 'store-sql')?.sources ?? [];
    const filesOf = (dialect: string): string[] => {
      const names = sources
        .filter(({ path }) => path.startsWith(`src/${dialect}/`))
        .map(({ path }) => path.split('/')[2] ?? '');
      return [...new Set(names)].filter((name) => !Object.hasOwn(DIALECT_EXTRAS, name)).sort();
    };
    expect(filesOf('postgres').length).toBeGreaterThan(10);
    expect(filesOf('mysql')).toEqual(filesOf('postgres'));
    expect(filesOf('sqlite')).toEqual(filesOf('postgres'));
  });

  it('keep only the entries and the two ways to wire core at its root', () => {
    const core = packages.find(({ folder }) => folder === 'core');
    const atRoot = core?.sources.map(({ path }) => path).filter((path) => path.split('/').length === 2);
    expect(atRoot).toEqual([
      'src/create-outbox.ts',
      'src/index.ts',
      'src/internal.ts',
      'src/outbox-module.ts',
    ]);
  });

  it('list the names of each entry by hand', () => {
    expect(packages.flatMap(entryProblems)).toEqual([]);
  });

  it('share one shape of package.json and are named after their folders', () => {
    expect(packages.flatMap(manifestProblems)).toEqual([]);
  });

  it('say where their source lives, as the root does', () => {
    const root = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(packages.flatMap((pkg) => originProblems(pkg, root))).toEqual([]);
  });

  it('share one version', () => {
    expect(versionProblems(packages)).toEqual([]);
  });

  it('each have a README, and share the license at the root', () => {
    expect(packages.filter(({ hasReadme }) => !hasReadme).map(({ folder }) => folder)).toEqual([]);
    expect(existsSync(new URL('../../LICENSE', import.meta.url))).toBe(true);
  });

  it('never write to the console, except for the command line', () => {
    expect(packages.flatMap(consoleProblems)).toEqual([]);
  });

  it(`have no class with more than ${MOST_MEMBERS} members without a reason`, () => {
    expect(packages.flatMap(largeClasses).sort()).toEqual(Object.keys(LARGE_CLASSES).sort());
  });

  it('contain no note of unfinished work', () => {
    expect(packages.flatMap(unfinishedWork)).toEqual([]);
  });
});

describe('the rules themselves', () => {
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

  it('allow a whole scope if the table says so, and nothing that only starts like it', () => {
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
    "import { a } from '@postcommit/core/internals';",
    "import { a } from '@postcommit/store-sql/internal';",
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

  it('take a file beside the folders for a room where the table names it', () => {
    const table: Rooms = { 'statement.ts': [], claim: ['statement.ts'], store: ['claim'] };
    const pkg = (path: string, source: string): WorkspacePackage =>
      example('', { sources: [{ path, text: source }] });
    const importing = "import type { A } from '../statement.js';";
    expect(forbiddenRoomImports(pkg('src/claim/claim.ts', importing), table)).toEqual([]);
    expect(forbiddenRoomImports(pkg('src/store/store.ts', importing), table)).toEqual([
      'store-memory/src/store/store.ts imports src/statement.ts',
    ]);
    expect(
      forbiddenRoomImports(pkg('src/statement.ts', "import { a } from './claim/claim.js';"), table),
    ).toEqual(['store-memory/src/statement.ts imports src/claim/claim.ts']);
  });

  it('refuse a room that no longer exists', () => {
    expect(
      missingRooms(example('', { sources: [{ path: 'src/claim/a.ts', text: '' }] }), {
        claim: [],
        'gone.ts': [],
      }),
    ).toEqual(['store-memory: gone.ts']);
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

  it('allow imports of declared packages and own files, and ignore comments and strings', () => {
    const source = `
      import { decide } from '@postcommit/core';
      import { nameToken } from '@postcommit/core/internal';
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
    expect(entryProblems(example(source))).toHaveLength(1);
  });

  it('refuse a package without an index, and allow names listed by hand', () => {
    expect(entryProblems(example('', { sources: [] }))).toHaveLength(1);
    expect(entryProblems(example("export { a } from './a.js';\nexport type { B } from './b.js';"))).toEqual(
      [],
    );
  });

  it('refuse a core without its internal entry, and a name in both entries', () => {
    const index = { path: 'src/index.ts', text: "export { a } from './a.js';" };
    const internal = { path: 'src/internal.ts', text: "export { a as b } from './a.js';" };
    const again = { path: 'src/internal.ts', text: "export type { a } from './a.js';" };
    const problems = (...sources: SourceFile[]): string[] =>
      entryProblems(example('', { folder: 'core', sources }));
    expect(problems(index)).toEqual(['core has no src/internal.ts']);
    expect(problems(index, internal)).toEqual([]);
    expect(problems(index, again)).toEqual(['core exports a twice']);
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

  it('count the fields and methods of a class, but not its constructor', () => {
    const methods = Array.from({ length: MOST_MEMBERS }, (_, index) => `m${index}() {}`).join('\n');
    expect(largeClasses(example(`class Fits { constructor() {}\n${methods} }`))).toEqual([]);
    expect(largeClasses(example(`class Large { #field = 1;\n${methods} }`))).toEqual(['Large']);
  });

  it('refuse the console, except in the command line and in comments', () => {
    const loud = "console.log('here');";
    expect(consoleProblems(example(loud))).toHaveLength(1);
    expect(consoleProblems(example("globalThis.console['log']();"))).toHaveLength(1);
    expect(consoleProblems(example(loud, { folder: 'cli' }))).toEqual([]);
    expect(consoleProblems(example('// console.log would be lost here'))).toEqual([]);
  });

  it('refuse a note of unfinished work, in sources and in tests', () => {
    const note = { path: 'test/a.test.ts', text: `// ${'TO'}${'DO'}: later` };
    expect(unfinishedWork(example(note.text, { tests: [note] }))).toHaveLength(2);
  });
});

/** For packages without rooms: whatever folders they have. */
function everyFolder(pkg: WorkspacePackage): Rooms {
  return Object.fromEntries(pkg.sources.map(({ path }) => [path.split('/')[1] ?? '', []]));
}

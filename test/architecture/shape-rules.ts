import { isDeepStrictEqual } from 'node:util';
import { classesIn, namesListedIn, statementsThatListNoNames, usesConsole } from './syntax.js';
import type { Manifest, SourceFile, WorkspacePackage } from './workspace.js';

/** Both kinds of module, with types for both. */
function entry(name: string): object {
  return {
    import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
    require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
  };
}

/** One entry per package, ESM and CommonJS. */
export const sharedFields: Manifest = {
  license: 'MIT',
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20.19' },
  main: './dist/index.cjs',
  module: './dist/index.js',
  types: './dist/index.d.ts',
  exports: {
    '.': entry('index'),
    './package.json': './package.json',
  },
  publishConfig: { access: 'public' },
};

/** What a package publishes beside its build. */
export const extraFiles: Readonly<Record<string, readonly string[]>> = {
  cli: ['bin/outbox.js'],
  'store-prisma': ['outbox.prisma'],
};

/**
 * Entries beside the public one. Only the core has one: every package builds on it, and what its siblings share must
 * neither be copied nor become a promise to users.
 */
const extraEntries: Readonly<Record<string, readonly string[]>> = { core: ['internal'] };

const commandLine = 'cli';

/** Packages that need a newer Node than the rest of the family. */
const engines: Readonly<Record<string, Manifest>> = {
  // Its client does: the last version for Node 20 loses messages of concurrent idempotent sends.
  'publisher-kafka': { node: '>=22.22' },
};

/** Where the source lives: every package repeats what the root says. `scripts/sync-manifests.mjs` copies it. */
export function originProblems({ folder, manifest }: WorkspacePackage, root: Manifest): string[] {
  const expected: Manifest = {
    repository: { ...(root.repository as object), directory: `packages/${folder}` },
    homepage: `${String(root.homepage)}/tree/main/packages/${folder}#readme`,
    bugs: root.bugs,
  };
  return Object.keys(expected)
    .filter((field) => !isDeepStrictEqual(manifest[field], expected[field]))
    .map(
      (field) => `${folder}/package.json: "${field}" differs from the root; run scripts/sync-manifests.mjs`,
    );
}

export function manifestProblems({ folder, manifest }: WorkspacePackage): string[] {
  const expected = fieldsOf(folder);
  const problems = Object.keys(expected)
    .filter((field) => !isDeepStrictEqual(manifest[field], expected[field]))
    .map((field) => `"${field}" differs from the shape that all packages share`);
  if (manifest.name !== `@postcommit/${folder}`) problems.push(`its name is ${manifest.name}`);
  if (!isDeepStrictEqual(manifest.files, ['dist', ...(extraFiles[folder] ?? [])]))
    problems.push('"files" names more or less than the build');
  if (manifest.private) problems.push('it is private');
  if (!manifest.description) problems.push('it has no description');
  if (manifest.bin !== undefined && folder !== commandLine) problems.push('only cli has a binary');
  return problems.map((problem) => `${folder}/package.json: ${problem}`);
}

/** Empty when all packages carry the same version. */
export function versionProblems(packages: readonly WorkspacePackage[]): string[] {
  const versions = new Set(packages.map(({ manifest }) => manifest.version));
  return versions.size > 1 ? packages.map(({ folder, manifest }) => `${folder} is ${manifest.version}`) : [];
}

/** Every entry lists its names by hand, and no name stands in two of them. */
export function entryProblems({ folder, sources }: WorkspacePackage): string[] {
  const paths = ['index', ...(extraEntries[folder] ?? [])].map((name) => `src/${name}.ts`);
  const entries = paths.map((path) => sources.find((file) => file.path === path));
  const missing = paths.filter((_, at) => !entries[at]).map((path) => `${folder} has no ${path}`);
  const found = entries.filter((file) => file !== undefined);
  const odd = found.flatMap((file) =>
    statementsThatListNoNames(file).map((statement) => `${folder}/${file.path}: ${statement}`),
  );
  const names = found.flatMap(namesListedIn);
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  return [...missing, ...odd, ...twice.map((name) => `${folder} exports ${name} twice`)];
}

/** Whether siblings may import this: an entry of its own, for the packages of this repository. */
export function isInternalEntry(specifier: string): boolean {
  return Object.entries(extraEntries).some(([folder, names]) =>
    names.some((name) => specifier === `@postcommit/${folder}/${name}`),
  );
}

function fieldsOf(folder: string): Manifest {
  const { './package.json': itself, ...rest } = sharedFields.exports as Record<string, unknown>;
  const names = extraEntries[folder] ?? [];
  const extra = names.map((name) => [`./${name}`, entry(name)]);
  // TypeScript with `moduleResolution: node10` does not read `exports`.
  const older = names.map((name) => [name, [`./dist/${name}.d.ts`]]);
  return {
    ...sharedFields,
    engines: engines[folder] ?? sharedFields.engines,
    exports: { ...rest, ...Object.fromEntries(extra), './package.json': itself },
    typesVersions: names.length > 0 ? { '*': Object.fromEntries(older) } : undefined,
  };
}

export function consoleProblems({ folder, sources }: WorkspacePackage): string[] {
  if (folder === commandLine) return [];
  return sources.filter(usesConsole).map(({ path }) => `${folder}/${path} uses console`);
}

export function unfinishedWork({ folder, sources, tests }: WorkspacePackage): string[] {
  const isUnfinished = ({ text }: SourceFile): boolean => /\b(TO(?:DO)|FIX(?:ME))\b/.test(text);
  return [...sources, ...tests].filter(isUnfinished).map(({ path }) => `${folder}/${path}`);
}

/** A class with more fields and methods hides a second one. */
export const MOST_MEMBERS = 20;

/** The classes of a package that are larger, by name. */
export function largeClasses({ sources }: WorkspacePackage): string[] {
  return sources.flatMap((file) =>
    classesIn(file)
      .filter(({ members }) => members > MOST_MEMBERS)
      .map(({ name }) => name),
  );
}

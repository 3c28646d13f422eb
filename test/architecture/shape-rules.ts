import { isDeepStrictEqual } from 'node:util';
import { statementsThatListNoNames, usesConsole } from './syntax.js';
import type { Manifest, SourceFile, WorkspacePackage } from './workspace.js';

/** One entry per package, ESM and CommonJS, with types for both. */
export const sharedFields: Manifest = {
  license: 'MIT',
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20.19' },
  main: './dist/index.cjs',
  module: './dist/index.js',
  types: './dist/index.d.ts',
  exports: {
    '.': {
      import: { types: './dist/index.d.ts', default: './dist/index.js' },
      require: { types: './dist/index.d.cts', default: './dist/index.cjs' },
    },
    './package.json': './package.json',
  },
  publishConfig: { access: 'public' },
};

/** What a package publishes beside its build. */
export const extraFiles: Readonly<Record<string, readonly string[]>> = { 'store-prisma': ['outbox.prisma'] };

const commandLine = 'cli';

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
  const problems = Object.keys(sharedFields)
    .filter((field) => !isDeepStrictEqual(manifest[field], sharedFields[field]))
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

export function indexProblems({ folder, sources }: WorkspacePackage): string[] {
  const index = sources.find(({ path }) => path === 'src/index.ts');
  if (!index) return [`${folder} has no src/index.ts`];
  return statementsThatListNoNames(index).map((statement) => `${folder}/src/index.ts: ${statement}`);
}

export function consoleProblems({ folder, sources }: WorkspacePackage): string[] {
  if (folder === commandLine) return [];
  return sources.filter(usesConsole).map(({ path }) => `${folder}/${path} uses console`);
}

export function unfinishedWork({ folder, sources, tests }: WorkspacePackage): string[] {
  const isUnfinished = ({ text }: SourceFile): boolean => /\b(TO(?:DO)|FIX(?:ME))\b/.test(text);
  return [...sources, ...tests].filter(isUnfinished).map(({ path }) => `${folder}/${path}`);
}

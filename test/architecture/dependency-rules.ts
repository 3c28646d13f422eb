import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { isInternalEntry } from './shape-rules.js';
import { importsOf } from './syntax.js';
import type { Manifest, SourceFile, WorkspacePackage } from './workspace.js';

/** One line of the table: what a package may depend on. `@scope/*` stands for every package of that scope. */
export interface Allowance {
  readonly siblings?: readonly string[];
  readonly dependencies?: readonly string[];
  readonly peers?: readonly string[];
  readonly optionalPeers?: readonly string[];
}

// The core computes and waits. It opens no file, no socket and no process.
const builtinsOfCore = new Set([
  'node:async_hooks',
  'node:crypto',
  'node:events',
  'node:os',
  'node:timers',
  'node:timers/promises',
  'node:util',
]);

/** What a manifest declares beyond its line of the table. */
export function forbiddenDependencies(manifest: Manifest, allowance: Allowance): string[] {
  const isOptional = (name: string): boolean => manifest.peerDependenciesMeta?.[name]?.optional === true;
  const peers = Object.keys(manifest.peerDependencies ?? {});
  const siblings = (allowance.siblings ?? []).map((folder) => `@postcommit/${folder}`);
  return [
    ...beyond('dependency', Object.keys(manifest.dependencies ?? {}), [
      ...siblings,
      ...(allowance.dependencies ?? []),
    ]),
    ...beyond('optional dependency', Object.keys(manifest.optionalDependencies ?? {}), []),
    ...beyond(
      'peer',
      peers.filter((name) => !isOptional(name)),
      allowance.peers ?? [],
    ),
    ...beyond('optional peer', peers.filter(isOptional), allowance.optionalPeers ?? []),
  ].map((problem) => `${manifest.name}: ${problem}`);
}

function beyond(kind: string, names: readonly string[], allowed: readonly string[]): string[] {
  const isAllowed = (name: string): boolean =>
    allowed.some((entry) => (entry.endsWith('/*') ? name.startsWith(entry.slice(0, -1)) : name === entry));
  return names.filter((name) => !isAllowed(name)).map((name) => `${kind} ${name} is not in the table`);
}

/** Imports that reach a package which the manifest does not declare, or none at all. */
export function forbiddenImports(pkg: WorkspacePackage): string[] {
  const declared = new Set([
    ...Object.keys(pkg.manifest.dependencies ?? {}),
    ...Object.keys(pkg.manifest.peerDependencies ?? {}),
  ]);
  return pkg.sources.flatMap((file) =>
    importsOf(file)
      .map((specifier) => problemOfImport(specifier, file, pkg.folder, declared))
      .filter((problem) => problem !== undefined)
      .map((problem) => `${pkg.folder}/${file.path}: ${problem}`),
  );
}

function problemOfImport(
  specifier: string | undefined,
  file: SourceFile,
  folder: string,
  declared: ReadonlySet<string>,
): string | undefined {
  if (specifier === undefined) return 'imports a computed name, which nobody can check';
  if (specifier.startsWith('.')) return problemOfRelativeImport(specifier, file);
  if (isBuiltin(specifier)) return problemOfBuiltin(specifier, folder);
  const name = packageNameOf(specifier);
  if (name.startsWith('@postcommit/') && specifier !== name && !isInternalEntry(specifier))
    return `${specifier} is an internal of ${name}`;
  return declared.has(name) ? undefined : `${name} is not declared in package.json`;
}

/** A package may read its own version. */
const MANIFEST = 'package.json';

function problemOfRelativeImport(specifier: string, file: SourceFile): string | undefined {
  const target = posix.join(posix.dirname(file.path), specifier);
  return target.startsWith('src/') || target === MANIFEST
    ? undefined
    : `${specifier} leaves the package's src`;
}

function problemOfBuiltin(specifier: string, folder: string): string | undefined {
  if (!specifier.startsWith('node:')) return `${specifier} lacks its node: prefix`;
  if (folder !== 'core' || builtinsOfCore.has(specifier)) return undefined;
  return `${specifier} is not among the built-ins that core may use`;
}

/**
 * The rooms of a package, each with those it may import from: folders of `src`, and files beside them that stand for a
 * room of their own. Any other file may import from all of them, and nothing in a room may import it.
 */
export type Rooms = Readonly<Record<string, readonly string[]>>;

/** Imports between rooms that the table does not allow. */
export function forbiddenRoomImports(pkg: WorkspacePackage, rooms: Rooms): string[] {
  return pkg.sources.flatMap((file) => {
    const from = roomOf(file.path, rooms);
    if (from === undefined) return [];
    const allowed = [from, ...(rooms[from] ?? [])];
    return relativeTargets(file)
      .filter((target) => target !== MANIFEST && !allowed.includes(roomOf(target, rooms) ?? ''))
      .map((target) => `${pkg.folder}/${file.path} imports ${target}`);
  });
}

/** Folders of `src` that the table does not know. */
export function unknownRooms(pkg: WorkspacePackage, rooms: Rooms): string[] {
  const folders = pkg.sources.map(({ path }) => path.split('/')).filter(({ length }) => length > 2);
  return [...new Set(folders.map(([, folder = '']) => folder))].filter((folder) => !(folder in rooms));
}

/** Rooms of the table that the package does not have. */
export function missingRooms(pkg: WorkspacePackage, rooms: Rooms): string[] {
  const found = new Set(pkg.sources.map(({ path }) => path.split('/')[1]));
  return Object.keys(rooms)
    .filter((room) => !found.has(room))
    .map((room) => `${pkg.folder}: ${room}`);
}

/** Files that import each other, directly or through others, types included: each with the way back to itself. */
export function importCycles(pkg: WorkspacePackage): string[] {
  const imports = new Map(pkg.sources.map((file) => [file.path, relativeTargets(file)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) cycles.push([...way.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const next of imports.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
  return cycles.map((cycle) => `${pkg.folder}: ${cycle}`);
}

function roomOf(path: string, rooms: Rooms): string | undefined {
  const [, name = ''] = path.split('/');
  return Object.hasOwn(rooms, name) ? name : undefined;
}

function relativeTargets(file: SourceFile): string[] {
  return importsOf(file)
    .filter((specifier) => specifier?.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(file.path), specifier ?? '').replace(/\.js$/, '.ts'));
}

function packageNameOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

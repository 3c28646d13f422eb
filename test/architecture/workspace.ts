import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packagesFolder = fileURLToPath(new URL('../../packages', import.meta.url));

export type Dependencies = Readonly<Record<string, string>>;

export interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly bin?: unknown;
  readonly dependencies?: Dependencies;
  readonly peerDependencies?: Dependencies;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly optionalDependencies?: Dependencies;
  readonly [field: string]: unknown;
}

/** A file of a package; `path` is relative to the package, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface WorkspacePackage {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly hasReadme: boolean;
  readonly sources: readonly SourceFile[];
  readonly tests: readonly SourceFile[];
}

export function readPackages(): WorkspacePackage[] {
  return readdirSync(packagesFolder).filter(isPackage).sort().map(readPackage);
}

/** Another branch's package leaves its node_modules and dist behind, which git ignores and so do we. */
function isPackage(folder: string): boolean {
  return ['package.json', 'src'].some((entry) => existsSync(join(packagesFolder, folder, entry)));
}

function readPackage(folder: string): WorkspacePackage {
  const path = join(packagesFolder, folder);
  return {
    folder,
    manifest: JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')),
    hasReadme: existsSync(join(path, 'README.md')),
    sources: readFiles(path, 'src'),
    tests: readFiles(path, 'test'),
  };
}

function readFiles(packagePath: string, below: string): SourceFile[] {
  const folder = join(packagePath, below);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[cm]?tsx?$/.test(name))
    .sort()
    .map((name) => ({
      path: `${below}/${name.replaceAll('\\', '/')}`,
      text: readFileSync(join(folder, name), 'utf8'),
    }));
}

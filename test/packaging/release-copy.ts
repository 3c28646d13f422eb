import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Manifest, readPackages } from '../architecture/workspace.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folders of the public packages. */
export const packages: readonly string[] = readPackages().map(({ folder }) => join('packages', folder));

/** A copy of the repository to make a release in: manifests and READMEs, without sources. */
export class ReleaseCopy {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** With these changesets by their file names, or with those that wait in the repository. */
  static async create(changesets?: Readonly<Record<string, string>>): Promise<ReleaseCopy> {
    const copy = new ReleaseCopy(await mkdtemp(join(tmpdir(), 'postcommit-release-')));
    const settings = ['LICENSE', 'pnpm-workspace.yaml', '.pnpmfile.cjs'];
    const readmes = packages.map((path) => join(path, 'README.md'));
    for (const path of [...manifestPaths(), ...settings, ...readmes, ...(await changesetPaths(!changesets))])
      await cp(join(root, path), join(copy.folder, path));
    for (const [name, text] of Object.entries(changesets ?? {})) await copy.addChangeset(name, text);
    for (const path of packages) await copy.#linkWorkspace(path);
    // A git repository, as in real life: without one the command complains, but goes on.
    await run('git', ['init', '--quiet'], { cwd: copy.folder });
    return copy;
  }

  async addChangeset(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, '.changeset', name), text);
  }

  /** `changeset version`, which is what the release workflow runs. */
  async version(): Promise<void> {
    await run(process.execPath, [join(root, 'node_modules/@changesets/cli/bin.js'), 'version'], {
      cwd: this.folder,
    });
  }

  /** What `pnpm publish --dry-run` would publish, as `name@version`, to a registry that has nothing yet. */
  async publishDryRun(): Promise<string[]> {
    const registry = createServer((_, response) => response.writeHead(404).end('{}'));
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    const { port } = registry.address() as AddressInfo;
    try {
      const flags = ['--dry-run', '--no-git-checks', '--report-summary'];
      await this.#pnpm('publish', ...flags, '--registry', `http://127.0.0.1:${port}/`);
    } finally {
      registry.close();
    }
    const summary = JSON.parse(await this.read('pnpm-publish-summary.json'));
    return summary.publishedPackages.map(({ name, version }: Record<string, string>) => `${name}@${version}`);
  }

  /** The manifests as they are packed. */
  async packedManifests(): Promise<Manifest[]> {
    const stdout = await this.#pnpm('pack', '--json', '--pack-destination', this.folder);
    const packed: { filename: string }[] = JSON.parse(stdout);
    const manifest = ['package/package.json'];
    const texts = packed.map(({ filename }) => run('tar', ['-xOf', filename, ...manifest]));
    return (await Promise.all(texts)).map((text) => JSON.parse(text.stdout));
  }

  async manifest(path: string): Promise<Manifest> {
    return JSON.parse(await this.read(join(path, 'package.json')));
  }

  async read(path: string): Promise<string> {
    return readFile(join(this.folder, path), 'utf8');
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Every public package. */
  async #pnpm(...args: readonly string[]): Promise<string> {
    const pnpm = [join(root, 'scripts/run.mjs'), 'pnpm', '-r', '--filter', './packages/*'];
    return (await run(process.execPath, [...pnpm, ...args], { cwd: this.folder })).stdout;
  }

  /** As an install would: pnpm reads the version behind a `workspace:` range in node_modules. */
  async #linkWorkspace(path: string): Promise<void> {
    for (const sibling of manifestPaths().map(dirname)) {
      const { name = '' } = await this.manifest(sibling);
      const link = join(this.folder, path, 'node_modules', name);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(this.folder, sibling), link);
    }
  }
}

/** The manifests of packages that are never published. */
export const privateManifests: readonly string[] = manifestPaths().filter(
  (path) => !packages.some((folder) => path.startsWith(`${folder}/`)),
);

function manifestPaths(): string[] {
  const below = (parent: string): string[] =>
    readdirSync(join(root, parent)).map((name) => join(parent, name, 'package.json'));
  const others = ['package.json', ...below('examples'), ...below('internal')];
  return [...packages.map((path) => join(path, 'package.json')), ...others].filter((path) =>
    existsSync(join(root, path)),
  );
}

/** All that changesets reads; the changesets themselves only on request. */
async function changesetPaths(withWaiting: boolean): Promise<string[]> {
  const files = await readdir(join(root, '.changeset'));
  return files.filter((name) => withWaiting || !name.endsWith('.md')).map((name) => join('.changeset', name));
}

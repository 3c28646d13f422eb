import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { catalogVersion } from '../packaging/catalog.js';
import { packAll } from '../packaging/packed-packages.js';
import { type ExampleReadme, examplesFolder } from './example-readme.js';

const run = promisify(execFile);

/** Not the reader's: what belongs to the checkout, and what is generated. */
const OURS = new Set(['node_modules', 'package.json', 'README.md', 'generate-client.mjs', 'generated']);

/**
 * Examples in folders of their own, outside of the checkout. npm installs the packages of all of them once, ours from
 * their tarballs; each folder then has those that its README names, and no other.
 */
export class PastedExamples {
  readonly #folder: string;
  readonly #setUp: string;
  readonly #pasted = new Map<string, Promise<string>>();

  private constructor(folder: string, setUp: string) {
    this.#folder = folder;
    this.#setUp = setUp;
  }

  static async install(readmes: readonly ExampleReadme[]): Promise<PastedExamples> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'postcommit-examples-')));
    const [setUp = '', ...others] = new Set(readmes.map((readme) => readme.setUp));
    if (others.length > 0) throw new Error(`The READMEs set up differently: ${others.join(', ')}`);
    const pasted = new PastedExamples(folder, setUp);
    try {
      await pasted.#install([...new Set(readmes.flatMap((readme) => readme.packages))]);
      return pasted;
    } catch (error) {
      await pasted.remove();
      throw error;
    }
  }

  /** Where the packages are, for a module that is loaded before an example. */
  get installed(): string {
    return join(this.#folder, 'installed');
  }

  /** Returns the example's folder. */
  paste(readme: ExampleReadme): Promise<string> {
    const pasted = this.#pasted.get(readme.name) ?? this.#paste(readme);
    this.#pasted.set(readme.name, pasted);
    return pasted;
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #paste({ name, packages }: ExampleReadme): Promise<string> {
    const target = join(this.#folder, name);
    const isReaders = (path: string): boolean => !OURS.has(basename(path));
    await cp(join(examplesFolder, name), target, { recursive: true, filter: isReaders });
    await cp(join(this.#folder, 'package.json'), join(target, 'package.json'));
    for (const each of [...packages, '.bin']) {
      const link = join(target, 'node_modules', each);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(this.installed, 'node_modules', each), link);
    }
    return target;
  }

  async #install(packages: readonly string[]): Promise<void> {
    await mkdir(this.installed);
    await run('sh', ['-c', this.#setUp], { cwd: this.installed });
    await cp(join(this.installed, 'package.json'), join(this.#folder, 'package.json'));
    const tarballs = await packAll();
    const foreign = packages.filter((name) => !tarballs.has(name));
    // All of ours: they depend on one another, and are not on any registry yet.
    const wanted = [...tarballs.values(), ...(await Promise.all(foreign.map(pinned)))];
    // Forced: no reader has all examples in one folder, where typeorm's optional ioredis 5 meets the 6 of BullMQ's.
    const flags = [
      '--force',
      '--no-audit',
      '--no-fund',
      '--no-package-lock',
      '--ignore-scripts',
      '--prefer-offline',
    ];
    await run('npm', ['install', ...flags, ...wanted], { cwd: this.installed });
  }
}

/** In the version of the workspace, so that a release elsewhere does not break the test. */
async function pinned(name: string): Promise<string> {
  return `${name}@${await catalogVersion(name)}`;
}

import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { catalogVersion } from '../catalog.js';
import { packAll } from '../packed-packages.js';

const runFile = promisify(execFile);

/** What the packages want beside them, and what a TypeScript user has. Versions: those of the workspace. */
const COMPANIONS = [
  '@nestjs/common',
  '@nestjs/core',
  '@opentelemetry/api',
  '@platformatic/kafka', // for a newer Node than this may be: its types are checked, and our package loads it when it connects
  '@types/node',
  '@types/pg',
  'pg',
  'reflect-metadata',
  'rxjs',
  'typeorm',
  'typescript',
  'vite',
  'vitest',
];

/** A user's folder, outside of this repository: nothing in it is a link to the workspace. */
export class InstalledProject {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** All our packages, from their tarballs, by npm. */
  static async create(): Promise<InstalledProject> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'postcommit-installed-')));
    const project = new InstalledProject(folder);
    try {
      const tarballs = [...(await packAll())].map(([name, path]) => [name, `file:${path}`]);
      const dependencies = Object.fromEntries([...tarballs, ...(await companions())]);
      await project.write('package.json', JSON.stringify({ private: true, dependencies }));
      const flags = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--prefer-offline'];
      await project.run('npm', ['install', ...flags]);
      return project;
    } catch (error) {
      await project.remove();
      throw error;
    }
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text);
  }

  /** Gives what it printed; its output is part of the error when it fails. */
  async run(command: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string> {
    // What vitest sets for its own workers is not for a user's program.
    const { NODE_OPTIONS: _, NODE_ENV: __, VITEST: ___, ...inherited } = process.env;
    const env = { ...inherited, ...environment };
    try {
      return (await runFile(command, args, { cwd: this.folder, env })).stdout;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
    }
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function companions(): Promise<[string, string][]> {
  return Promise.all(COMPANIONS.map(async (name) => [name, await catalogVersion(name)]));
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import * as pty from '@lydell/node-pty';
import { build } from 'tsup';
import { afterAll, beforeAll, vi } from 'vitest';
import { twoEntries } from '../../../tsup.base.js';

const packages = fileURLToPath(new URL('../..', import.meta.url));
/** Built from source as they are published, so that a config file imports them as a user's does. */
const OURS = ['core', 'store-sql', 'store-memory', 'store-pg', 'store-typeorm', 'cli'];
const FOREIGN = ['cli/commander', 'cli/jiti', 'cli/mysql2', 'cli/pg', 'store-typeorm/typeorm'];

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface OnTerminal {
  readonly code: number;
  readonly output: string;
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  /** Name and text of files in the folder that the binary runs in. */
  readonly files?: Record<string, string>;
  readonly columns?: number;
  /** What is typed when a question appears on the terminal. */
  readonly answers?: Record<string, string>;
}

/** A folder as a user has it: the packages are installed, and the binary can be run in it. */
export interface Project {
  readonly folder: string;
  start(args: readonly string[], options?: RunOptions): Promise<ChildProcess>;
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  runOnTerminal(args: readonly string[], options?: RunOptions): Promise<OnTerminal>;
}

/** Registers the life of the folder with vitest; use what it returns inside tests only. */
export function useProject(): Project {
  // A process takes its time to start where many run.
  vi.setConfig({ testTimeout: 60_000 });
  let folder = '';
  let runs = 0;
  const running = new Set<{ kill(signal: 'SIGKILL'): unknown }>();
  const bin = (): string => join(folder, 'node_modules/@postcommit/cli/dist/bin.js');
  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'outbox-cli-')));
    await install(folder);
  }, 120_000);
  afterAll(async () => {
    // A test that failed half way leaves its process running.
    for (const left of running) left.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  const prepare = async ({
    env = {},
    files = {},
  }: RunOptions): Promise<{ cwd: string; env: NodeJS.ProcessEnv }> => {
    const cwd = join(folder, `run-${runs++}`);
    for (const [name, content] of Object.entries({ 'package.json': '{}', ...files })) {
      await mkdir(dirname(join(cwd, name)), { recursive: true });
      await writeFile(join(cwd, name), content);
    }
    const { DATABASE_URL: _theirs, ...inherited } = process.env;
    return { cwd, env: { ...inherited, ...env } };
  };
  const start: Project['start'] = async (args, options = {}) => {
    const { cwd, env } = await prepare(options);
    const child = spawn(process.execPath, [bin(), ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  };
  return {
    get folder() {
      return folder;
    },
    start,
    run: async (args, options) => ended(await start(args, options)),
    runOnTerminal: async (args, options = {}) => {
      const { cwd, env } = await prepare(options);
      const terminal = pty.spawn(process.execPath, [bin(), ...args], {
        cols: options.columns ?? 120,
        cwd,
        env: { ...env },
      });
      running.add(terminal);
      let output = '';
      const questions = new Map(Object.entries(options.answers ?? {}));
      terminal.onData((data) => {
        output += data;
        for (const [question, answer] of questions) {
          if (output.includes(question) && questions.delete(question)) terminal.write(`${answer}\r`);
        }
      });
      const code = await new Promise<number>((resolve) =>
        terminal.onExit(({ exitCode }) => resolve(exitCode)),
      );
      running.delete(terminal);
      return { code, output };
    },
  };
}

export async function ended(child: ChildProcess): Promise<Ended> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('the child was started without pipes');
  const [[code], out, error] = await Promise.all([once(child, 'close'), text(stdout), text(stderr)]);
  return { code, stdout: out, stderr: error };
}

async function install(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '@postcommit'), { recursive: true });
  for (const name of OURS) await buildPackage(name, join(modules, '@postcommit', name));
  for (const path of FOREIGN) {
    const [owner = '', name = ''] = path.split('/');
    await symlink(await realpath(join(packages, owner, 'node_modules', name)), join(modules, name));
  }
}

async function buildPackage(name: string, target: string): Promise<void> {
  const source = join(packages, name);
  const shared = {
    config: false,
    tsconfig: join(source, 'tsconfig.json'),
    outDir: join(target, 'dist'),
    target: 'node20',
    external: [/^@postcommit\//, /^\.\/index\.js$/],
    skipNodeModulesBundle: false,
    splitting: false,
    dts: false,
    silent: true,
  } as const;
  const external = [...shared.external, 'commander', 'jiti', 'pg', 'typeorm'];
  const entries = name === 'core' ? twoEntries(source) : { entry: [join(source, 'src/index.ts')] };
  await build({ ...shared, ...entries, dts: false, external, format: ['esm', 'cjs'] });
  if (name === 'cli')
    await build({ ...shared, external, entry: [join(source, 'src/bin.ts')], format: ['esm'] });
  await copyFile(join(source, 'package.json'), join(target, 'package.json'));
}

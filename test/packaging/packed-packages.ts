import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { readPackages } from '../architecture/workspace.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

let packing: Promise<Map<string, string>> | undefined;
const temporaryFolders: string[] = [];

// Registered for every test file that imports this one.
afterAll(async () => {
  for (const folder of temporaryFolders) await rm(folder, { recursive: true, force: true });
});

/** Name and tarball of every public package, as it would be published. Packed once per test file. */
export function packAll(): Promise<Map<string, string>> {
  packing ??= pack();
  return packing;
}

/** Lays the packed packages into `<folder>/node_modules`, as an install would, without their dependencies. */
export async function installPacked(folder: string, names: readonly string[]): Promise<void> {
  const tarballs = await packAll();
  for (const name of names) {
    const tarball = tarballs.get(name);
    if (!tarball) throw new Error(`${name} is not among the packed packages`);
    const target = join(folder, 'node_modules', name);
    await mkdir(target, { recursive: true });
    await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]);
  }
}

async function pack(): Promise<Map<string, string>> {
  requireBuild();
  const folder = await mkdtemp(join(tmpdir(), 'postcommit-packed-'));
  temporaryFolders.push(folder);
  // pnpm, because npm leaves `workspace:*` in the manifests.
  const command = ['scripts/run.mjs', 'pnpm', '-r', '--filter', './packages/*', 'pack'];
  const { stdout } = await run(process.execPath, [...command, '--json', '--pack-destination', folder], {
    cwd: root,
  });
  const packed: { name: string; filename: string }[] = JSON.parse(stdout);
  return new Map(packed.map(({ name, filename }) => [name, filename]));
}

function requireBuild(): void {
  const built = (folder: string): string => join(root, 'packages', folder, 'dist/index.js');
  const unbuilt = readPackages().filter(({ folder }) => !existsSync(built(folder)));
  if (unbuilt.length === 0) return;
  throw new Error(`Not built: ${unbuilt.map(({ folder }) => folder).join(', ')}. \`npm test\` builds first.`);
}

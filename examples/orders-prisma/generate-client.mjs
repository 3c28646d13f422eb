/** `prisma generate`, also where nothing can be downloaded. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const cli = join(dirname(createRequire(import.meta.url).resolve('prisma/package.json')), 'build/index.js');
// Prisma would download an engine that generating does not use: any program passes for it.
const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'generate', '--no-hints'], {
  cwd: import.meta.dirname,
  env,
  encoding: 'utf8',
});
if (status !== 0) console.error(stdout + stderr);
process.exitCode = status ?? 1;

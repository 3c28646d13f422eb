import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const generated = join(here, 'gen');
const prismaManifest = createRequire(import.meta.url).resolve('prisma/package.json');

/** Leaves in test/gen the client of schema.prisma and ../outbox.prisma. As vitest's globalSetup, or by itself. */
export async function setup() {
  const schema = await readSchema();
  const stamp = createHash('sha256')
    .update(schema)
    .update(await readFile(prismaManifest))
    .digest('hex');
  if (await hasStamp(stamp)) return;
  // Made aside and moved there when complete, so that two runs at once can't mix their files.
  const folder = await mkdtemp(join(here, 'gen-'));
  try {
    await generate(folder, schema);
    await writeFile(join(folder, 'client/stamp'), stamp);
    await moveIntoPlace(folder, stamp);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readSchema() {
  const files = [join(here, 'schema.prisma'), join(here, '../outbox.prisma')];
  return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n');
}

async function hasStamp(stamp) {
  return (await readFile(join(generated, 'stamp'), 'utf8').catch(() => undefined)) === stamp;
}

async function generate(folder, schema) {
  await writeFile(join(folder, 'schema.prisma'), schema);
  const cli = join(dirname(prismaManifest), 'build/index.js');
  const args = [cli, 'generate', '--schema', join(folder, 'schema.prisma'), '--no-hints'];
  // Prisma would download an engine that generating does not use: any program passes for it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  await promisify(execFile)(process.execPath, args, { cwd: folder, env });
}

/** What another run put there meanwhile stays, since its tests may be reading it; what is stale gives way. */
async function moveIntoPlace(folder, stamp) {
  const client = join(folder, 'client');
  try {
    await rename(client, generated);
  } catch {
    if (await hasStamp(stamp)) return;
    await rename(generated, join(folder, 'stale'));
    await rename(client, generated);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await setup();

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheFolder, pnpmEntry, pnpmFolder, pnpmVersion, root } from './checkout.mjs';
import { fetchPackage, isThere } from './fetch-package.mjs';
import { filesBelow, fingerprint } from './fingerprint.mjs';
import { withLock } from './lock.mjs';
import { step } from './step.mjs';

const generated = new Set(['node_modules', 'dist', 'coverage', '.git', '.cache', '.turbo', '.pnpm-store']);
const unbuilt = new Set([...generated, 'test', 'README.md', 'CHANGELOG.md']);

// Inside node_modules, so that it goes when they go.
const installStamp = join(root, 'node_modules/.postcommit-install');
const buildStamp = join(cacheFolder, 'build');

/** Leaves pnpm, the dependencies and every package's `dist` as the checkout's files want them. */
export async function prepare(signal) {
  // Who finds all done starts nothing, so that no `dist` is rewritten below another run that reads it.
  if ((await hasPnpm()) && (await isInstalled()) && (await isBuilt())) return;
  await underLock(signal, async () => {
    await fetchPnpm(signal);
    await install(signal);
    await build(signal);
  });
}

/** Leaves the pinned pnpm in the checkout, and nothing else changed. */
export async function providePnpm(signal) {
  if (!(await hasPnpm())) await underLock(signal, () => fetchPnpm(signal));
}

async function underLock(signal, work) {
  await mkdir(cacheFolder, { recursive: true });
  await withLock(join(cacheFolder, 'lock'), signal, work);
}

function hasPnpm() {
  return isThere(pnpmEntry);
}

async function fetchPnpm(signal) {
  if (!(await hasPnpm())) await fetchPackage(`pnpm@${pnpmVersion}`, pnpmFolder, signal);
}

async function install(signal) {
  if (await isInstalled()) return;
  const inputs = await installInputs();
  // NODE_ENV=production must not drop the build tools, nor a foreign node_modules raise a question.
  const flags = ['--frozen-lockfile', '--prod=false', '--config.confirm-modules-purge=false'];
  await step('Installing dependencies', [process.execPath, pnpmEntry, 'install', ...flags], { signal });
  await writeFile(installStamp, inputs + (await installOutputs()));
}

async function isInstalled() {
  const stamp = await readFile(installStamp, 'utf8').catch(() => undefined);
  return stamp === (await installInputs()) + (await installOutputs());
}

async function installInputs() {
  const manifests = (await filesBelow(root, generated)).filter((file) => basename(file) === 'package.json');
  const settings = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', '.npmrc'].map((name) => join(root, name));
  return fingerprint([...manifests, ...settings], process.version, process.platform, process.arch);
}

/** pnpm's own note of what lies in node_modules: it tells when somebody installed something else by hand. */
function installOutputs() {
  return fingerprint([join(root, 'node_modules/.pnpm/lock.yaml')]);
}

async function build(signal) {
  if (await isBuilt()) return;
  const inputs = await buildInputs();
  await step('Building packages', [join(root, 'node_modules/.bin/turbo'), 'run', 'build'], { signal });
  await writeFile(buildStamp, inputs + (await buildOutputs()));
}

async function isBuilt() {
  const stamp = await readFile(buildStamp, 'utf8').catch(() => undefined);
  return stamp === (await buildInputs()) + (await buildOutputs());
}

async function buildInputs() {
  const sources = await filesBelow(join(root, 'packages'), unbuilt);
  const settings = ['turbo.json', 'tsconfig.base.json', 'tsup.base.ts'].map((name) => join(root, name));
  return fingerprint([...sources, ...settings], await installInputs());
}

async function buildOutputs() {
  const files = await filesBelow(join(root, 'packages'), new Set(['node_modules', 'src', 'test', '.turbo']));
  return fingerprint(files.filter((file) => file.includes('/dist/')));
}

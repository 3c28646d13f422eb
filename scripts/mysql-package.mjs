import { constants } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { cacheFolder } from './checkout.mjs';
import { isThere } from './fetch-package.mjs';
import { withLock } from './lock.mjs';
import { capture, step } from './step.mjs';

/** MySQL can't be provided on this machine; the message says why. */
export class MysqlUnavailable extends Error {}

// Debian has MySQL in its unstable suite only.
const SUITE = 'sid';
const PACKAGE = 'mysql-server-core';
const folder = join(cacheFolder, 'mysql');
const unfinished = `${folder}.unfinished`;
const settingsFile = join(unfinished, 'apt.conf');

/**
 * Unpacks MySQL and every library it needs into the checkout's cache, and returns that folder. Nothing of the
 * system changes: apt works on a state of its own, and dpkg only unpacks. Delete the folder to get a newer MySQL.
 */
export async function provideMysql(signal) {
  if (await isThere(folder)) return folder;
  await requireTools();
  await mkdir(cacheFolder, { recursive: true });
  await withLock(`${folder}-lock`, signal, async () => {
    if (!(await isThere(folder))) await fetchMysql(signal);
  });
  return folder;
}

async function fetchMysql(signal) {
  await rm(unfinished, { recursive: true, force: true });
  await writePrivateState();
  await readIndex(await mirrors(signal), signal);
  const download = apt('install', '--yes', '--download-only', '--no-install-recommends', PACKAGE);
  await step(`Downloading ${PACKAGE}`, download, { signal });
  await unpack(signal);
  await rename(join(unfinished, 'root'), folder);
  await rm(unfinished, { recursive: true });
}

/** An empty state: apt then resolves everything down to the C library, whatever this machine has installed. */
async function writePrivateState() {
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'root']) {
    await mkdir(join(unfinished, name), { recursive: true });
  }
  await writeFile(join(unfinished, 'state/status'), '');
  await writeFile(
    settingsFile,
    `
Dir::State "${unfinished}/state";
Dir::State::status "${unfinished}/state/status";
Dir::Cache "${unfinished}/cache";
Dir::Etc::sourcelist "${unfinished}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "";
Acquire::Languages "none";
// Hooks of the machine, for example those that empty its package cache.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`,
  );
}

/** Where this machine's own packages come from: the one place that it is known to reach. */
async function mirrors(signal) {
  const list = ['apt-get', 'indextargets', '--no-release-info', '--format', '$(REPO_URI)'];
  const { output } = await capture(list[0], list.slice(1), '/', signal);
  return [...new Set(output.split('\n').filter((line) => /^[a-z+]+:\//.test(line)))];
}

/** From the first mirror that has the suite. apt checks its signature with the machine's own keys. */
async function readIndex(candidates, signal) {
  const failures = [];
  for (const mirror of candidates) {
    await writeFile(join(unfinished, 'sources.list'), `deb ${mirror} ${SUITE} main\n`);
    const [command, ...args] = apt('update', '--error-on=any');
    const { exitCode, output } = await capture(command, args, '/', signal);
    if (exitCode === 0) return;
    failures.push(`${mirror}: ${output.trim().split('\n').at(-1)}`);
  }
  const why = failures.length > 0 ? failures.join('\n  ') : 'apt has no sources';
  throw new MysqlUnavailable(`no package source of this machine offers Debian ${SUITE}:\n  ${why}`);
}

async function unpack(signal) {
  const archives = join(unfinished, 'cache/archives');
  const packages = (await readdir(archives)).filter((name) => name.endsWith('.deb'));
  const script = 'to=$1; shift; for package; do dpkg -x "$package" "$to" || exit; done';
  const command = ['sh', '-c', script, 'unpack', join(unfinished, 'root'), ...packages];
  await step(`Unpacking ${packages.length} packages`, command, { signal, cwd: archives });
}

function apt(command, ...args) {
  return ['apt-get', '--config-file', settingsFile, '--quiet', command, ...args];
}

async function requireTools() {
  for (const tool of ['apt-get', 'dpkg']) {
    if (!(await isOnPath(tool))) throw new MysqlUnavailable(`there is no ${tool} on this machine`);
  }
}

async function isOnPath(tool) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = await Promise.all(folders.map((each) => isThere(join(each, tool), constants.X_OK)));
  return found.includes(true);
}

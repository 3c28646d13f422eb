import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { npmCommand } from './environment.mjs';
import { step } from './step.mjs';

/** Installs one package (`name@version`) into a folder of its own, which is there completely or not at all. */
export async function fetchPackage(spec, folder, signal) {
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts'];
  const command = [...npmCommand, 'install', '--prefix', unfinished, ...flags, spec];
  await step(`Fetching ${spec}`, command, { signal, cwd: unfinished });
  // npm notes there which registry it used.
  await rm(join(unfinished, 'node_modules/.package-lock.json'), { force: true });
  await rename(unfinished, folder);
}

export function isThere(path, mode) {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

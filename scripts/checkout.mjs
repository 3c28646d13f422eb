import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const cacheFolder = join(root, '.cache');

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** A `packageManager` field may carry a hash behind a `+`. */
export const pnpmVersion = manifest.packageManager.replace(/^pnpm@/, '').replace(/\+.*$/, '');
export const pnpmFolder = join(cacheFolder, `pnpm-${pnpmVersion}`);
export const pnpmEntry = join(pnpmFolder, 'node_modules/pnpm/bin/pnpm.cjs');

export function requireSupportedNode() {
  const numbers = (version) =>
    version
      .replace(/[^\d.]/g, '')
      .split('.')
      .map(Number);
  const [major, minor] = numbers(process.versions.node);
  const [leastMajor, leastMinor = 0] = numbers(manifest.engines.node);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  throw new Error(`Postcommit needs Node ${leastMajor}.${leastMinor} or newer; this is ${process.version}.`);
}

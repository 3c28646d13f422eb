import { delimiter, join } from 'node:path';
import { pnpmFolder } from './checkout.mjs';

// npm names itself to its scripts. Without that (plain `node scripts/run.mjs`) it must be on PATH.
const npmScript = process.env.npm_execpath;

export const npmCommand = npmScript?.endsWith('npm-cli.js') ? [process.execPath, npmScript] : ['npm'];

// What says where packages come from and how that place is reached.
const networkSetting =
  /^npm_config_(registry|userconfig|globalconfig|cache|store_dir|ca|cafile|cert|key|(https?_)?proxy|noproxy|strict_ssl|fetch_.*|offline|prefer_offline|@.*|\/\/.*)$/i;

/**
 * npm hands all its settings to its scripts, and pnpm takes them for its own: `npm test --silent` would
 * hide why an install failed, `--ignore-scripts` would leave PostgreSQL without its libraries.
 */
export function cleanEnvironment() {
  for (const name of Object.keys(process.env)) {
    if (/^npm_/i.test(name) && !networkSetting.test(name)) delete process.env[name];
  }
  // turbo, publint and whatever runs below them look for pnpm on PATH.
  const pnpmBin = join(pnpmFolder, 'node_modules/.bin');
  process.env.PATH = [pnpmBin, process.env.PATH].filter(Boolean).join(delimiter);
  process.env.TURBO_TELEMETRY_DISABLED = '1';
  process.env.TURBO_NO_UPDATE_NOTIFIER = '1';
}

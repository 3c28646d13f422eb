/** Runs one example of the checkout, as its README says, with a PostgreSQL for those that need one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { root } from './checkout.mjs';

const folderOf = (name) => join(root, 'examples', name);
const manifestOf = (name) => join(folderOf(name), 'package.json');

/** All but the demo, which is started by `npm run demo`. A folder without a manifest is what another branch left. */
export function exampleNames() {
  return readdirSync(join(root, 'examples')).filter(
    (name) => name !== 'demo' && existsSync(manifestOf(name)),
  );
}

/** Returns how it ended, as an exit code. */
export async function runExample(name, env) {
  const { scripts } = JSON.parse(readFileSync(manifestOf(name), 'utf8'));
  const PATH = [join(folderOf(name), 'node_modules/.bin'), process.env.PATH].join(delimiter);
  // `exec`, so that the signals below reach the program itself. Ctrl-C reaches it anyway.
  const child = spawn(scripts.start.replace(/(^|&& )(?=[^&]*$)/, '$1exec '), {
    cwd: folderOf(name),
    env: { ...process.env, PATH, ...env },
    shell: true,
    stdio: 'inherit',
  });
  const passOn = () => child.kill('SIGTERM');
  const ignore = () => {};
  process.on('SIGTERM', passOn).on('SIGINT', ignore);
  const [code, killedBy] = await once(child, 'exit');
  process.off('SIGTERM', passOn).off('SIGINT', ignore);
  return code ?? 128 + constants.signals[killedBy];
}

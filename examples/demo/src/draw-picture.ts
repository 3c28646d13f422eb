/**
 * Runs the demo and draws what it prints as `docs/demo.svg`. With `--check` it draws nothing: it fails if the picture
 * shows another story than the demo tells.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { draw, linesIn, linesOf, masked } from './picture.js';

const picture = new URL('../../../docs/demo.svg', import.meta.url);

async function outputOfDemo(): Promise<string> {
  const demo = spawn(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(new URL('main.ts', import.meta.url))],
    {
      env: { ...process.env, FORCE_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const closed = once(demo, 'close');
  const output = await text(demo.stdout);
  const [code] = await closed;
  if (code !== 0) throw new Error(`the demo failed:\n${output}`);
  return output;
}

const lines = linesOf(await outputOfDemo());
if (!process.argv.includes('--check')) {
  await writeFile(picture, draw(lines));
} else if (masked(linesIn(await readFile(picture, 'utf8'))) !== masked(lines)) {
  console.error(
    'docs/demo.svg shows another story than the demo tells: run `npm run picture` in examples/demo.',
  );
  process.exitCode = 1;
}

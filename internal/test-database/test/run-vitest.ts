import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** Runs one of the fixtures in a vitest of its own, with our globalSetup and nothing of our environment. */
export async function runVitest(
  fixture: string,
  temporary: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: unknown; output: string }> {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const config = fileURLToPath(new URL('./fixtures/vitest.config.ts', import.meta.url));
  const child = spawn(process.execPath, [vitest, 'run', '--config', config, fixture], {
    env: { PATH: process.env.PATH, TMPDIR: temporary, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<unknown[]>,
  ]);
  return { code, output: stdout + stderr };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectNothingLeft, ownTemporaryFolder, processesIn } from './leftovers.js';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const PRINT_URL = 'console.log(process.env.MYSQL_URL)';

function withMysql(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
  ...command: readonly string[]
): ChildProcess & { stdout: NonNullable<ChildProcess['stdout']> } {
  const script = join(folder, 'scripts/with-mysql.mjs');
  const child = spawn(process.execPath, [script, process.execPath, ...command], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

describe('if MySQL is unavailable, the command is skipped and the reason printed', () => {
  /** A checkout without the cache of this one, on a machine with these tools. */
  async function skippedWith(tools: Readonly<Record<string, string>>): Promise<string> {
    const folder = await ownTemporaryFolder();
    await cp(join(checkout, 'scripts'), join(folder, 'scripts'), { recursive: true });
    await cp(join(checkout, 'package.json'), join(folder, 'package.json'));
    const bin = join(folder, 'bin');
    await mkdir(bin);
    for (const [name, script] of Object.entries(tools)) {
      await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
      await chmod(join(bin, name), 0o755);
    }
    const child = withMysql(folder, { PATH: bin }, '--eval', 'console.log("it ran")');
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      child.stderr ? text(child.stderr) : '',
      once(child, 'close'),
    ]);
    expect({ code, stdout }).toEqual({ code: 77, stdout: '' });
    return stderr;
  }

  test('no apt', async () => {
    expect(await skippedWith({})).toBe(
      'Skipped: MySQL is unavailable, there is no apt-get on this machine\n',
    );
  });

  test('apt without sources', async () => {
    expect(await skippedWith({ 'apt-get': 'exit 0', dpkg: '' })).toContain('apt has no sources');
  });

  test('a mirror that does not answer', async () => {
    const aptGet = `case "$*" in *indextargets*) echo http://mirror.invalid/debian/;; *) echo "E: no route"; exit 100;; esac`;
    expect(await skippedWith({ 'apt-get': aptGet, dpkg: '' })).toContain(
      'no package source of this machine offers Debian sid:\n  http://mirror.invalid/debian/: E: no route',
    );
  });
});

const isProvided = existsSync(join(checkout, '.cache/mysql'));

describe.skipIf(!isProvided)(
  'with the MySQL that scripts/with-mysql.mjs has provided',
  {
    timeout: 120_000,
  },
  () => {
    test('the exit code is the command’s, and nothing is left behind', async () => {
      const temporary = await ownTemporaryFolder();
      const child = withMysql(
        checkout,
        { TMPDIR: temporary },
        '--eval',
        `${PRINT_URL}; process.exitCode = 3`,
      );
      const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
      expect(stdout).toMatch(/^mysql:\/\/root@127\.0\.0\.1:\d+\n$/);
      expect(code).toBe(3);
      await expectNothingLeft(temporary);
    });

    test.for(['SIGTERM', 'SIGKILL'] as const)('%s leaves nothing behind', async (signal) => {
      const temporary = await ownTemporaryFolder();
      // After SIGKILL of its parent the command ends by itself, as one that lost its server would.
      const wait = `const { ppid } = process; ${PRINT_URL}; setInterval(() => process.ppid !== ppid && process.exit(), 20)`;
      const child = withMysql(checkout, { TMPDIR: temporary }, '--eval', wait);
      await once(createInterface({ input: child.stdout }), 'line');
      expect(processesIn(temporary).length).toBeGreaterThan(1);
      child.kill(signal);
      const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null];
      expect(killedBy ?? code).toBe(signal);
      await expectNothingLeft(temporary);
    });
  },
);

import { chmod, cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { canReach, nobody } from '../src/account.js';
import { startPostgres } from '../src/postgres.js';
import { launchPostgres } from '../src/postgres-launcher.js';
import { platformPackage } from '../src/postgres-package.js';
import { expectNothingLeft, ownTemporaryFolder } from './leftovers.js';
import { query } from './query.js';
import { spawnStarter } from './starter.js';

const isRoot = process.getuid?.() === 0;
const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const isOpenToAll = isRoot && canReach(nobody(), checkout) && canReach(nobody(), process.execPath);

test('the account nobody is found by name, whatever its number', () => {
  const passwd = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:99:98:Nobody:/:/sbin/nologin\n';
  expect(nobody(passwd)).toEqual({ uid: 99, gid: 98 });
  expect(() => nobody('root:x:0:0:root:/root:/bin/sh\n')).toThrow('refuses to run as root');
});

describe.skipIf(!isRoot)('as root (only root can become nobody)', { timeout: 60_000 }, () => {
  test('works from a checkout below a folder that nobody can enter', async () => {
    const closed = join(await ownTemporaryFolder(), 'closed');
    await mkdir(closed, { mode: 0o700 });
    const packageFolder = join(closed, 'package');
    await cp(platformPackage(), packageFolder, { recursive: true, verbatimSymlinks: true });
    const server = await launchPostgres({}, { packageFolder });
    onTestFinished(() => server.stop());
    expect(await query(server.url, 'select 1')).toEqual([1]);
    await server.restart();
    // A library that is loaded on demand comes from the copy too.
    await query(server.url, `do language plpgsql 'begin end'`);
  });

  test('works from a package that only its owner can read', async () => {
    const packageFolder = join(await ownTemporaryFolder(), 'package');
    await cp(platformPackage(), packageFolder, { recursive: true, verbatimSymlinks: true });
    await chmod(join(packageFolder, 'native', 'lib'), 0o700);
    const server = await launchPostgres({}, { packageFolder });
    onTestFinished(() => server.stop());
    expect(await query(server.url, 'select 1')).toEqual([1]);
  });

  test('works if nobody can’t enter TMPDIR', async () => {
    const closed = join(await ownTemporaryFolder(), 'closed');
    await mkdir(closed, { mode: 0o700 });
    vi.stubEnv('TMPDIR', closed);
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    expect(await query(server.url, 'select 1')).toEqual([1]);
  });
});

describe.skipIf(!isOpenToAll)('as root, in a checkout that nobody can enter too', { timeout: 60_000 }, () => {
  test('an ordinary user starts a server, and SIGKILL leaves nothing behind', async () => {
    const temporary = await ownTemporaryFolder();
    const starter = spawnStarter('wait', temporary, nobody());
    expect(await query(await starter.url, 'select 1')).toEqual([1]);
    starter.process.kill('SIGKILL');
    await starter.ended;
    await expectNothingLeft(temporary);
  });
});

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectNothingLeft, ownTemporaryFolder, processesIn } from './leftovers.js';
import { query } from './query.js';
import { spawnStarter } from './starter.js';

describe('the end of the process that started a server leaves nothing behind', {
  timeout: 60_000,
}, () => {
  test.for(['SIGKILL', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s', async (signal) => {
    const temporary = await ownTemporaryFolder();
    const starter = spawnStarter('wait', temporary);
    expect(await query(await starter.url, 'select 1')).toEqual([1]);
    if (existsSync('/proc')) expect(processesIn(temporary).length).toBeGreaterThan(2);
    starter.process.kill(signal);
    expect(await starter.ended).toBe(signal);
    await expectNothingLeft(temporary);
    await expect(query(await starter.url, 'select 1')).rejects.toThrow('ECONNREFUSED');
  });

  test.for([
    ['exit', 3],
    ['throw', 1],
    ['forget', 0],
    ['stop', 0],
  ] as const)('%s: it ends by itself with code %i', async ([ending, code]) => {
    const temporary = await ownTemporaryFolder();
    const starter = spawnStarter(ending, temporary);
    await starter.url;
    expect(await starter.ended).toBe(code);
    await expectNothingLeft(temporary);
  });

  test('SIGKILL while the folder has just been made', async () => {
    const temporary = await ownTemporaryFolder();
    const starter = spawnStarter('wait', temporary);
    await expect.poll(() => readdirSync(temporary), { timeout: 20_000, interval: 1 }).toHaveLength(1);
    starter.process.kill('SIGKILL');
    await starter.ended;
    await expectNothingLeft(temporary);
  });

  test('SIGKILL in the middle of initdb', async () => {
    const temporary = await ownTemporaryFolder();
    const starter = spawnStarter('wait', temporary);
    await starter.loaded;
    const isInitialising = () =>
      readdirSync(temporary).some((folder) => existsSync(join(temporary, folder, 'data', 'base', '1')));
    await expect.poll(isInitialising, { timeout: 20_000, interval: 1 }).toBe(true);
    starter.process.kill('SIGKILL');
    await starter.ended;
    await expectNothingLeft(temporary);
  });

  test('SIGKILL while another process is still connected', async () => {
    const temporary = await ownTemporaryFolder();
    const starter = spawnStarter('wait', temporary);
    const client = new Client({ connectionString: await starter.url });
    const cutOff = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    onTestFinished(() => client.end());
    starter.process.kill('SIGKILL');
    await cutOff;
    await expectNothingLeft(temporary);
  });
});

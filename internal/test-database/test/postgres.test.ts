import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type PostgresOptions, type PostgresServer, startPostgres } from '../src/postgres.js';
import { type LaunchInternals, launchPostgres } from '../src/postgres-launcher.js';
import { platformPackage } from '../src/postgres-package.js';
import { expectNothingLeft, ownTemporaryFolder, processesIn } from './leftovers.js';
import { query } from './query.js';

async function start(
  options?: PostgresOptions,
  internals?: Partial<LaunchInternals>,
): Promise<PostgresServer> {
  const server = internals
    ? await launchPostgres(options ?? {}, { packageFolder: platformPackage(), ...internals })
    : await startPostgres(options);
  onTestFinished(() => server.stop());
  return server;
}

describe('startPostgres', { timeout: 60_000 }, () => {
  test('starts a PostgreSQL 18 with settings for tests', async () => {
    const server = await start();
    expect(server.url).toMatch(/^postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres$/);
    expect(await query(server.url, 'select version()')).toEqual([expect.stringContaining('PostgreSQL 18')]);
    expect(await query(server.url, 'show max_connections')).toEqual(['200']);
    expect(await query(server.url, 'show timezone')).toEqual(['UTC']);
    expect(await query(server.url, 'show fsync')).toEqual(['off']);
    expect(await query(server.url, 'show synchronous_commit')).toEqual(['on']);
  });

  test('a durable server writes as in production, and the settings of the caller take precedence', async () => {
    const server = await start({ durable: true, settings: { max_connections: '33', work_mem: '8MB' } });
    const names = `('fsync', 'synchronous_commit', 'full_page_writes', 'max_connections', 'work_mem')`;
    const text = `select name || '=' || current_setting(name) from pg_settings where name in ${names} order by name`;
    expect(await query(server.url, text)).toEqual([
      'fsync=on',
      'full_page_writes=on',
      'max_connections=33',
      'synchronous_commit=on',
      'work_mem=8MB',
    ]);
  });

  test('two concurrent servers do not collide', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(one.url).not.toBe(two.url);
    expect(await query(one.url, 'show data_directory')).not.toEqual(
      await query(two.url, 'show data_directory'),
    );
  });

  test('uses another port if the first is taken meanwhile', async () => {
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void squatter.close());
    const address = squatter.address();
    const taken = typeof address === 'object' && address !== null ? address.port : 0;
    const pickPort = vi.fn(async () => 0);
    pickPort.mockResolvedValueOnce(taken).mockResolvedValue(await unusedPort());
    const server = await start({}, { pickPort });
    expect(pickPort).toHaveBeenCalledTimes(2);
    expect(await query(server.url, 'select 1')).toEqual([1]);
  });

  test('has its socket in its folder, or none if the path would be too long', async () => {
    const short = await start();
    const [folder] = await query(short.url, 'show unix_socket_directories');
    expect(existsSync(join(String(folder), `.s.PGSQL.${new URL(short.url).port}`))).toBe(true);

    const long = join(await ownTemporaryFolder(), 'x'.repeat(90));
    await mkdir(long, { mode: 0o777 });
    vi.stubEnv('TMPDIR', long);
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await start();
    expect(await query(server.url, 'show data_directory')).toEqual([expect.stringContaining(long)]);
    expect(await query(server.url, 'show unix_socket_directories')).toEqual(['']);
  });

  test('ignores PG* variables', async () => {
    vi.stubEnv('PGDATA', '/nonexistent');
    vi.stubEnv('PGPORT', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await start();
    expect(await query(server.url, 'select 1')).toEqual([1]);
  });

  test('reports PostgreSQL’s message if it does not start, and leaves nothing behind', async () => {
    const temporary = await ownTemporaryFolder();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(start({ settings: { max_connections: 'many' } })).rejects.toThrow(
      /postgres: exit code 1.*invalid value for parameter "max_connections": "many"/s,
    );
    await expectNothingLeft(temporary);
  });

  test('names the platforms and DATABASE_URL if there is no package', () => {
    expect(() => platformPackage('plan9-mips')).toThrow(/plan9-mips.*linux-x64.*DATABASE_URL/);
  });
});

describe('stop', { timeout: 60_000 }, () => {
  test('removes process, watchdog and folder, and can be called again', async () => {
    const temporary = await ownTemporaryFolder();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await start();
    expect(() => process.kill(server.pid, 0)).not.toThrow();
    if (existsSync('/proc')) expect(processesIn(temporary).length).toBeGreaterThan(2);
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH');
    await expectNothingLeft(temporary);
    await expect(server.restart()).rejects.toThrow('was stopped');
  });

  test('disconnects a client that stays connected', async () => {
    const server = await start();
    const client = new Client({ connectionString: server.url });
    const cutOff = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await server.stop();
    expect(await cutOff).toMatchObject({ message: expect.stringContaining('terminat') });
  });
});

describe('restart', { timeout: 60_000 }, () => {
  test('keeps its port and every acknowledged commit, in order, by a crash and after a kill', async () => {
    const temporary = await ownTemporaryFolder();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await start();
    const { url } = server;
    await query(url, 'create table kept (how text)');
    const pids = [server.pid];
    for (const how of ['fast', 'immediate', 'killed'] as const) {
      await query(url, `insert into kept values ('${how}')`);
      if (how === 'killed') process.kill(server.pid, 'SIGKILL');
      await server.restart(how === 'immediate' ? 'immediate' : 'fast');
      pids.push(server.pid);
    }
    expect(server.url).toBe(url);
    expect(new Set(pids).size).toBe(4);
    expect(await query(url, 'select how from kept')).toEqual(['fast', 'immediate', 'killed']);
    await server.stop();
    await expectNothingLeft(temporary);
  });
});

async function unusedPort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

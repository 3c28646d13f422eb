import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BrokerUnavailable } from '../src/broker-process.js';
import { connectNats, findNats, hasNatsServer, startNats } from '../src/nats.js';

/** Where this test alone puts temporary files. */
function temporaryFolder(): string {
  const given = process.env.TMPDIR;
  const folder = mkdtempSync(join(tmpdir(), 'postcommit-test-brokers-'));
  process.env.TMPDIR = folder;
  onTestFinished(() => {
    if (given === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = given;
    rmSync(folder, { recursive: true });
  });
  return folder;
}

describe.runIf(hasNatsServer())('a private NATS server', () => {
  test('keeps its port and its streams over a kill, and leaves nothing behind', async () => {
    const folder = temporaryFolder();
    const server = await startNats();
    expect(readdirSync(folder)).toHaveLength(1);
    const first = await connectNats(server);
    await (await jetstreamManager(first)).streams.add({ name: 'KEPT', subjects: ['kept'] });
    await server.kill();
    await first.close();
    await expect(findNats(`nats://${server.host}:${server.port}`)).rejects.toThrow();
    await server.start();
    const second = await connectNats(server);
    expect((await (await jetstreamManager(second)).streams.info('KEPT')).config.name).toBe('KEPT');
    await second.close();
    await server.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('asks for credentials if it is told to', async () => {
    const server = await startNats({ user: 'app', pass: 'secret' });
    onTestFinished(() => server.close());
    await expect(connectNats(server)).rejects.toThrow(/authorization/i);
    const connection = await connectNats(server, { user: 'app', pass: 'secret' });
    await connection.close();
  });
});

test('where nothing answers, tests are skipped by name; a given address must answer', async () => {
  const given = process.env.NATS_URL;
  onTestFinished(() => {
    if (given === undefined) delete process.env.NATS_URL;
    else process.env.NATS_URL = given;
  });
  delete process.env.NATS_URL;
  const finding = findNats('nats://127.0.0.1:1');
  await expect(finding).rejects.toBeInstanceOf(BrokerUnavailable);
  await expect(finding).rejects.toThrow('no NATS to run on');
  process.env.NATS_URL = 'nats://127.0.0.1:1';
  await expect(findNats()).rejects.not.toBeInstanceOf(BrokerUnavailable);
});

import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { expect, it } from 'vitest';
import { useMysql } from '../../store-sql/test/mysql-fixture.js';
import { type Ended, type RunOptions, useProject } from './project-fixture.js';

/** The commands on MariaDB or MySQL, by the config file of an application that uses TypeORM. */
const CONFIG = `
  import { defineConfig } from '@postcommit/cli';
  import { OutboxModule, PermanentError } from '@postcommit/core';
  import type { OutboxRow } from '@postcommit/core';
  import { OutboxTypeormModule } from '@postcommit/store-typeorm';
  import { DataSource } from 'typeorm';
  const dataSource = new DataSource({ type: 'mariadb', url: process.env.TEST_DATABASE });
  const publisher = async ({ topic }: OutboxRow): Promise<void> => {
    if (topic === 'order.refunded') throw new PermanentError('Stripe webhook 502');
  };
  export default defineConfig({
    modules: [OutboxModule.forRoot({ publisher }), OutboxTypeormModule.forRoot({ dataSource })],
  });`;

describeOnMysql('the commands on MariaDB or MySQL', () => {
  const project = useProject();
  const database = useMysql(async () => {});

  const options = (): RunOptions => ({
    env: { TEST_DATABASE: database.url },
    files: { 'outbox.config.ts': CONFIG, 'enqueue.config.ts': ENQUEUE },
  });
  const outbox = (...args: string[]): Promise<Ended> => project.run(args, options());
  const enqueued = (): Promise<Ended> =>
    project.run(['outbox:stats', '--config', 'enqueue.config.ts'], options());

  it('dispatch, list, retry, discard and purge work on its rows', { timeout: 120_000 }, async () => {
    expect(await outbox('outbox:stats')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^outbox:stats: the table `outbox` does not exist: run 'outbox:migrate'/),
    });
    expect(await outbox('outbox:migrate')).toMatchObject({ code: 0 });
    expect(await outbox('outbox:doctor')).toMatchObject({ code: 0, stderr: '' });
    expect((await enqueued()).stdout).toBe('outbox:stats pending=3 dispatched=0 dead=0 total=3\n');
    expect((await outbox('outbox:dispatch')).stdout).toBe(
      'outbox:dispatch fetched=3 dispatched=2 failed=0 dead=1\n',
    );
    expect((await outbox('outbox:list', '--state', 'dead')).stdout).toMatch(
      /^abc123 state=dead topic=order\.refunded attempts=1 createdAt=\S+Z lastError="Stripe webhook 502"\n$/,
    );
    expect((await outbox('outbox:retry', 'abc123')).stdout).toBe('outbox:retry id=abc123 requeued\n');
    expect((await outbox('outbox:dispatch', '--limit', '1')).stdout).toContain('dead=1');
    expect(await outbox('outbox:discard', 'abc123')).toMatchObject({ code: 0 });
    expect(await outbox('outbox:purge', '--older-than', '0s')).toMatchObject({ code: 0 });
    expect((await outbox('outbox:stats')).stdout).toBe(
      'outbox:stats pending=0 dispatched=0 dead=0 total=0\n',
    );
  });

  it('print the tables', async () => {
    const { stdout } = await outbox('outbox:schema');
    expect(stdout).toContain('create table if not exists `outbox`');
    expect(stdout).toContain('create table if not exists `outbox_locks`');
  });
});

/** Enqueues as the application starts. */
const ENQUEUE = CONFIG.replace(
  'export default',
  `import { TypeormOutboxStore } from '@postcommit/store-typeorm';
  await dataSource.initialize();
  await new TypeormOutboxStore(dataSource).enqueue([
    { topic: 'order.paid', payload: 1 },
    { id: 'abc123', topic: 'order.refunded', payload: 2 },
    { topic: 'order.paid', key: 'k', payload: 3 },
  ]);
  export default`,
).replace('modules:', 'close: () => dataSource.destroy(),\n    modules:');

import { OutboxMemoryModule } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { composeModules, type OutboxApp } from '../../src/modules/compose-modules.js';
import { type DispatchEventMap, DispatchEvents } from '../../src/observe/dispatch-events.js';
import type { SchemaProblem } from '../../src/observe/schema-problem.js';
import { OutboxModule } from '../../src/outbox-module.js';
import { OutboxSchema } from '../../src/store/outbox-schema.js';
import { OutboxWorker } from '../../src/worker/outbox-worker.js';
import { refusal } from '../outbox-fixture.js';

class StubSchema extends OutboxSchema {
  readonly #check: () => Promise<SchemaProblem[]>;
  constructor(check: () => Promise<SchemaProblem[]>) {
    super();
    this.#check = check;
  }
  print(): string {
    return '';
  }
  async ensure(): Promise<void> {}
  check(): Promise<SchemaProblem[]> {
    return this.#check();
  }
}

function compose(check: () => Promise<SchemaProblem[]>): OutboxApp {
  return composeModules([OutboxModule.forRoot({ publisher: async () => {} }), OutboxMemoryModule], {
    preferences: [{ provide: OutboxSchema, useValue: new StubSchema(check) }],
  });
}

describe('app.start()', () => {
  test('rejects a table that can’t work, briefly and with the command, and starts nothing', async () => {
    const missing = (name: string): SchemaProblem => ({
      level: 'required',
      problem: `column ${name} is missing`,
      fix: `alter table outbox add column ${name} text`,
    });
    const app = compose(async () => [
      ...['a', 'b', 'c', 'd', 'e'].map(missing),
      { level: 'tuning', problem: 'fillfactor', fix: 'alter table outbox set (fillfactor = 45)' },
    ]);
    const error = await app.start().catch((reason: unknown) => reason);
    expect(error).toEqual(
      refusal(
        'SCHEMA_OUTDATED',
        /^the outbox table is not ready: column a is missing; column b is missing; column c is missing; and 2 more\. Run 'outbox:migrate'/,
      ),
    );
    expect(String(error)).not.toMatch(/alter table|\n|fillfactor/);
    expect(await app.get(OutboxWorker).health()).toMatchObject({ status: 'stopped' });
  });

  test('rejects a foreign table with a separate code and what to do', async () => {
    const app = compose(async () => [
      {
        level: 'required',
        code: 'FOREIGN_TABLE',
        problem: '"outbox" is not a table of Postcommit',
        fix: "-- set another table name, or run 'outbox:migrate --adopt'",
      },
    ]);
    await expect(app.start()).rejects.toEqual(
      refusal(
        'FOREIGN_TABLE',
        /^"outbox" is not a table of Postcommit: set another table name, or run 'outbox:migrate --adopt'$/,
      ),
    );
    expect(await app.get(OutboxWorker).health()).toMatchObject({ status: 'stopped' });
  });

  test('reports what is badly tuned, and runs', async () => {
    const problem: SchemaProblem = { level: 'tuning', problem: 'fillfactor', fix: 'alter table …' };
    const app = compose(async () => [problem]);
    const told: SchemaProblem[] = [];
    app.get(DispatchEvents).on('schemaProblem', (one) => told.push(one));
    await app.start();
    expect(told).toEqual([problem]);
    expect(await app.get(OutboxWorker).health()).toMatchObject({ status: 'up' });
    await app.stop();
  });

  test('starts even if the database does not answer', async () => {
    const error = new Error('connection refused');
    const app = compose(() => Promise.reject(error));
    const told: DispatchEventMap['trouble'][] = [];
    app.get(DispatchEvents).on('trouble', (one) => told.push(one));
    await app.start();
    expect(told).toEqual([{ error, retryInMs: 0 }]);
    await app.stop();
  });
});

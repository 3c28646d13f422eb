import { beforeEach, describe, expect, it } from 'vitest';
import { ensureSchema, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { NestProcess } from './nest-process.js';

const fixture = usePostgres(async () => {});
const patience = { timeout: 120_000 };

beforeEach(async () => {
  await fixture.query('drop schema public cascade');
  await fixture.query('create schema public');
});

/** Runs the `cli.ts` of the guide. Returns its exit code and output. */
async function run(...args: string[]): Promise<{ code: unknown; output: string }> {
  const command = new NestProcess('./guide-app/cli.ts', { DATABASE_URL: fixture.url }, args);
  const code = await command.ended();
  return { code, output: command.lines.join('\n') };
}

describe('the commands of the guide', () => {
  it('show help and reject an unknown command on an empty database', patience, async () => {
    const [help, unknown] = await Promise.all([run('--help'), run('nope')]);
    expect(help).toMatchObject({ code: 0, output: expect.stringContaining('outbox:migrate') });
    expect(unknown).toMatchObject({ code: 1, output: "error: unknown command 'nope'" });
  });

  it('prepare an empty database', patience, async () => {
    expect(await run('outbox:stats')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^outbox:stats: .*outbox:migrate/),
    });
    expect(await run('outbox:migrate')).toMatchObject({ code: 0 });
    expect(await run('outbox:stats')).toEqual({
      code: 0,
      output: 'outbox:stats pending=0 dispatched=0 dead=0 total=0',
    });
  });

  it('upgrade an older table, and leave its rows to the workers', patience, async () => {
    await ensureSchema(fixture);
    await fixture.query(`insert into outbox (id, topic) values ('waiting', 'order.created')`);
    await fixture.query('alter table outbox drop column headers, drop column dead_reason');
    expect(await run('outbox:migrate')).toMatchObject({ code: 0 });
    expect(await run('outbox:doctor')).toMatchObject({ code: 0 });
    expect(await run('outbox:stats')).toMatchObject({ output: expect.stringContaining('pending=1') });
  });
});

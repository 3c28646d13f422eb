import { beforeEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { type Ended, useProject } from './project-fixture.js';

const postgres = usePostgres(async () => {});
const project = useProject();

const env = (): Record<string, string> => ({ DATABASE_URL: postgres.url });
const outbox = (...args: string[]): Promise<Ended> => project.run(args, { env: env() });

const pending = (): Promise<unknown> => postgres.query('select id from outbox where dispatched_at is null');
const columns = (): Promise<unknown> =>
  postgres.query(`select column_name from information_schema.columns where table_name = 'outbox' order by 1`);

beforeEach(async () => {
  await postgres.pool.query(`
    drop table if exists outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused;
    create table outbox (id bigserial primary key, topic text, processed boolean);
    insert into outbox (topic, processed) values ('legacy.1', true), ('legacy.2', true)`);
});

describe('outbox:migrate on a foreign table', () => {
  it('exits with 1 and one line that names both fixes', async () => {
    const before = await columns();
    expect(await outbox('outbox:migrate')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^outbox:migrate: "outbox" is not a table of Postcommit: set another table name .*'outbox:migrate --adopt'.*\n$/,
      ),
    });
    expect(await columns()).toEqual(before);
  });

  it('--adopt alone only prints the plan if nobody can be asked', async () => {
    const before = await columns();
    const { code, stdout, stderr } = await outbox('outbox:migrate', '--adopt');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'outbox:migrate: nothing was changed: pass --yes to adopt the table\n',
    });
    expect(stdout).toMatch(
      /^-- "outbox" is not a table of Postcommit\.\n-- Existing rows: 2\. Each is marked as dispatched/,
    );
    expect(stdout).toMatch(/outbox:retry/);
    expect(stdout).toMatch(/^update "outbox" set "dispatched_at" = /m);
    expect(await columns()).toEqual(before);
  });

  it('--adopt --yes adopts it, with no row pending, and it is then an outbox table', async () => {
    const { code, stdout } = await outbox('outbox:migrate', '--adopt', '--yes');
    expect(code).toBe(0);
    expect(stdout).toMatch(/\noutbox:migrate adopted rows=2\n$/);
    expect(await pending()).toEqual([]);
    expect(await outbox('outbox:migrate', '--adopt')).toMatchObject({
      code: 0,
      stdout: 'outbox:migrate fixed=0\n',
    });
    expect(await outbox('outbox:retry', '2')).toMatchObject({ code: 0 });
    expect(await pending()).toEqual([{ id: '2' }]);
  });

  it('--json prints one document', async () => {
    const plan = { rows: 2, isAtomic: true, obstacles: [] };
    const refused = await outbox('outbox:migrate', '--adopt', '--json');
    expect(JSON.parse(refused.stdout)).toMatchObject({ ...plan, adopted: false });
    expect(refused.code).toBe(2);
    const { stdout } = await outbox('outbox:migrate', '--adopt', '--yes', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ ...plan, adopted: true });
  });

  it('names what blocks the adoption', async () => {
    await postgres.query('alter table outbox add column type text not null default 1');
    await postgres.query('alter table outbox alter column type drop default');
    const before = await columns();
    const { code, stdout, stderr } = await outbox('outbox:migrate', '--adopt', '--yes');
    expect(code).toBe(1);
    expect(await outbox('outbox:migrate', '--adopt'), 'it is not asked for').toEqual({
      code,
      stdout,
      stderr,
    });
    expect(stdout).toMatch(/^-- Obstacle: column "type" must be filled/m);
    expect(stderr).toMatch(/^outbox:migrate: .*can't be adopted: column "type" .*drop not null.*\n$/);
    expect(await columns()).toEqual(before);
  });

  it.each([
    ['yes', 0],
    ['y', 1],
    ['no', 1],
    ['', 1],
  ])('asks on a terminal; the answer %j exits with %i', async (answer, code) => {
    const before = await columns();
    const ended = await project.runOnTerminal(['outbox:migrate', '--adopt'], {
      env: env(),
      answers: { 'Adopt the table? [yes/no]': answer },
    });
    expect(ended.code).toBe(code);
    expect(ended.output).toContain(code === 0 ? 'adopted rows=2' : 'nothing was changed');
    if (code !== 0) expect(await columns()).toEqual(before);
  });
});

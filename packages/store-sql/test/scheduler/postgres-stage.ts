import type { SqlFixture } from '../sql-fixture.js';
import type { Audited } from './history.js';
import type { Expired, Stage, Stored } from './stage.js';

export function postgresStage(fixture: SqlFixture): Stage {
  const query = async <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await fixture.query(text, values)) as Row[];
  return {
    fixture,
    producersWaitForRequeue: false,
    prepare: async () => {
      await query(`
        create table audit (actor text, id text, old_token text, new_token text, was_live boolean, was_pending boolean)`);
      await query(`
        create function audit_row() returns trigger language plpgsql as $$
        begin
          insert into audit values (
            current_setting('outbox.actor', true), old.id, old.claim_token, new.claim_token,
            coalesce(old.claimed_until > clock_timestamp(), false) and old.dispatched_at is null and old.dead_at is null,
            old.dispatched_at is null and old.dead_at is null);
          return null;
        end $$`);
      await query('create trigger audit after update on outbox for each row execute function audit_row()');
    },
    clear: async () => {
      await query('truncate outbox, audit restart identity');
    },
    nameActor: async (session, actor) => {
      await session.sql(`select set_config('outbox.actor', $1, false)`, [actor]);
    },
    timePasses: async () => {
      await query(`
        update outbox set available_at = available_at - interval '2 hours'
        where id in (select id from outbox where available_at > now() and dispatched_at is null for update skip locked)`);
    },
    expire: (id) =>
      query<Expired>(
        `update outbox set claimed_until = now() - interval '1 second'
         where id in (
           select id from outbox where claimed_until > now() and ($1::varchar is null or id = $1) for update skip locked
         )
         returning id, claim_token as token`,
        [id ?? null],
      ),
    takeAudit: () => query<Audited>('delete from audit returning *'),
    keysWithTwoOwners: async () => {
      const keys = await query<{ key: string }>(`
        select key from outbox
        where dispatched_at is null and dead_at is null and key is not null and claimed_until > clock_timestamp()
        group by key having count(distinct claim_token) > 1`);
      return keys.map(({ key }) => key);
    },
    stored: () =>
      query<Stored>(
        'select id, dispatched_at is not null as dispatched, dead_at is not null as dead from outbox',
      ),
  };
}

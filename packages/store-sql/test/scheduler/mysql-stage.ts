import type { SqlWork } from '@postcommit/store-sql';
import type { SqlFixture } from '../sql-fixture.js';
import type { Audited } from './history.js';
import type { Expired, Stage, Stored } from './stage.js';

export function mysqlStage(fixture: SqlFixture): Stage {
  const query = async <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await fixture.query(text, values)) as Row[];
  const seen = new Set<string>();
  return {
    fixture,
    // What comes back from the end is stored again, and a unique index locks the gaps around an id that was there.
    producersWaitForRequeue: true,
    prepare: async () => {
      await query(`
        create table audit (
          place bigint unsigned primary key default (uuid_short()), actor text, id text, old_token text, new_token text,
          was_live boolean, was_pending boolean
        )`);
      await query(`
        create trigger audit after update on outbox for each row
        insert into audit (actor, id, old_token, new_token, was_live, was_pending) values (
          @actor, old.id, old.claim_token, new.claim_token,
          coalesce(old.claimed_until > utc_timestamp(6), false) and old.dispatched_at is null and old.dead_at is null,
          old.dispatched_at is null and old.dead_at is null)`);
    },
    clear: async () => {
      seen.clear();
      await query('truncate table outbox');
      await query('truncate table audit');
    },
    nameActor: async (session, actor) => {
      await session.sql('set @actor = ?', [actor]);
    },
    /**
     * For nobody, if it would have to wait: who passed a row by may still have a lock on its place in an index, which
     * SKIP LOCKED on the row itself does not see.
     */
    timePasses: async () => {
      const clock = await fixture.connect({ lockTimeoutMs: 1 });
      const work: SqlWork = function* () {
        const later = yield {
          text: `select seq from outbox where available_at > utc_timestamp(6) and dispatched_at is null for update skip locked`,
          values: [],
        };
        return yield change(later, 'available_at = available_at - interval 2 hour');
      };
      await clock.run(work).catch((error: Error) => {
        if (!error.message.startsWith('Lock wait timeout')) throw error;
      });
      await clock.end();
    },
    expire: async (id) => {
      let live: readonly Expired[] = [];
      await fixture.executor(function* () {
        const found = yield {
          text: `
            select seq, id, claim_token as token from outbox
            where claimed_until > utc_timestamp(6) and (? is null or id = ?)
            for update skip locked`,
          values: [id ?? null, id ?? null],
        };
        live = found as unknown as readonly Expired[];
        return yield change(found, 'claimed_until = utc_timestamp(6) - interval 1 second');
      });
      return [...live];
    },
    // Nothing is deleted, since that would wait for those who have not committed yet.
    takeAudit: async () => {
      const updates = await query<Audited & { order: string }>(
        'select audit.*, cast(place as char) as `order` from audit order by place',
      );
      const taken = updates
        .filter(({ order }) => !seen.has(order))
        .map((update) => ({
          ...update,
          was_live: Boolean(update.was_live),
          was_pending: Boolean(update.was_pending),
        }));
      for (const { order } of taken) seen.add(order);
      return taken;
    },
    keysWithTwoOwners: async () => {
      const keys = await query<{ key: string }>(`
        select \`key\` from outbox
        where dispatched_at is null and dead_at is null and \`key\` is not null and claimed_until > utc_timestamp(6)
        group by \`key\` having count(distinct claim_token) > 1`);
      return keys.map(({ key }) => key);
    },
    stored: async () => {
      const rows = await query<Stored>(
        'select id, dispatched_at is not null as dispatched, dead_at is not null as dead from outbox',
      );
      return rows.map(({ id, dispatched, dead }) => ({
        id,
        dispatched: Boolean(dispatched),
        dead: Boolean(dead),
      }));
    },
  };
}

function change(rows: readonly Readonly<Record<string, unknown>>[], assignment: string) {
  const places = rows.length === 0 ? 'null' : rows.map(({ seq }) => Number(seq)).join(', ');
  return {
    text: `update outbox force index (primary) set ${assignment} where seq in (${places})`,
    values: [],
  };
}

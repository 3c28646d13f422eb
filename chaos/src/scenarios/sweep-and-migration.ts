import type { Arena } from '../arena.js';
import type { Scenario } from '../scenario.js';

const group = 'killed and stopped processes';
/** A page of the sweep has a thousand rows. */
const OLD = 2_500;
const FRESH = 50;
const PENDING = 30;

const killedSweep: Scenario = {
  group,
  name: 'SIGKILL in the middle of the retention sweep',
  rules: { isSwept: true, duplicates: 'none' },
  run: async (arena) => {
    await arena.produceAtOnce(orders('old', OLD));
    const worker = await arena.start({ batches: true, settings: { batchSize: 500 } });
    await arena.drained();
    await arena.query(`update outbox set dispatched_at = dispatched_at - interval '2 minutes'`);
    await arena.produceAtOnce(orders('fresh', FRESH));
    await arena.drained();
    await worker.terminate();
    await arena.produceAtOnce(orders('pending', PENDING));
    const sweeper = arena.launch({ role: 'sweeper', stopAtStatement: { pattern: 'delete from', nth: 2 } });
    await sweeper.stopsAtPoint();
    await arena.kill(sweeper);
    await expectRows(arena, { old: OLD - 1_000, fresh: FRESH, pending: PENDING });
    const next = arena.launch({ role: 'sweeper' });
    await next.exited();
    await expectRows(arena, { old: 0, fresh: FRESH, pending: PENDING });
    await arena.start();
    await arena.drained();
  },
};

async function expectRows(arena: Arena, expected: Readonly<Record<string, number>>): Promise<void> {
  const found = await arena.query<{ kind: string; rows: number }>(
    `select split_part(payload->>'order', '-', 1) as kind, count(*)::int as rows from outbox group by 1`,
  );
  const rows = Object.fromEntries(found.map(({ kind, rows: count }) => [kind, count]));
  for (const [kind, count] of Object.entries(expected)) {
    arena.expect((rows[kind] ?? 0) === count, `I10: ${rows[kind] ?? 0} ${kind} rows are left of ${count}`);
  }
}

function orders(kind: string, count: number): { id: string }[] {
  return Array.from({ length: count }, (_, place) => ({ id: `${kind}-${place}` }));
}

/** What `prisma migrate` makes of the specification's own model: an outbox from before this library. */
const SPECIFIED_TABLE = `
  create table outbox (
    id varchar(36) not null primary key, topic varchar(255) not null, payload jsonb,
    created_at timestamp(3) not null default current_timestamp, dispatched_at timestamp(3), dead_at timestamp(3),
    claimed_at timestamp(3), claim_token varchar(36), attempts integer not null default 0, last_error text
  );
  create index idx_outbox_pending on outbox (dispatched_at, dead_at, created_at);
  create index idx_outbox_claimed on outbox (claimed_at)`;

/** Killed at this statement of the migration; the next instance has to find what is left to do, whatever that is. */
function killedMigration(at: string, pattern: string, nth: number, hasOldTable: boolean): Scenario {
  return {
    group,
    name: `SIGKILL in the middle of a migration of ${hasOldTable ? 'an older table' : 'an empty database'}, ${at}`,
    rules: { duplicates: 'none' },
    withoutTables: true,
    run: async (arena) => {
      if (hasOldTable) await fillOldTable(arena);
      const victim = arena.launch({ role: 'migrator', stopAtStatement: { pattern, nth } });
      await victim.stopsAtPoint();
      await arena.kill(victim);
      await arena.start({ ensures: true });
      await arena.produce(10, ['k0', undefined]);
      await arena.drained();
    },
  };
}

async function fillOldTable(arena: Arena): Promise<void> {
  await arena.query(SPECIFIED_TABLE);
  const ids = Array.from({ length: 20 }, (_, place) => `old-${place}`);
  await arena.query('insert into orders (id) select unnest($1::text[])', [ids]);
  await arena.query(
    `insert into outbox (id, topic, payload, created_at)
     select id, 'order.placed', jsonb_build_object('order', id), (now() at time zone 'UTC') - interval '1 hour'
     from unnest($1::text[]) as id`,
    [ids],
  );
}

const OF_A_NEW_TABLE = [
  killedMigration('before its table', 'create table', 1, false),
  killedMigration('before an index', 'create index', 3, false),
  killedMigration('before its last step', 'comment on column', 1, false),
] as const;
const OF_AN_OLDER_TABLE = [
  killedMigration('before a column', 'add column', 4, true),
  killedMigration('before its last step', 'comment on column', 1, true),
] as const;

export const sweepAndMigrationScenarios: readonly Scenario[] = [
  killedSweep,
  OF_A_NEW_TABLE[1],
  OF_AN_OLDER_TABLE[1],
  ...[OF_A_NEW_TABLE[0], OF_A_NEW_TABLE[2], OF_AN_OLDER_TABLE[0]].map(onlyInTheLongForm),
];

function onlyInTheLongForm(scenario: Scenario): Scenario {
  return { ...scenario, longOnly: true };
}

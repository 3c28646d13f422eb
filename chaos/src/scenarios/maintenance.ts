import { type Arena, type ChildOptions, LONG_CLAIM_MS } from '../arena.js';
import type { ChaosProcess } from '../process.js';
import type { Scenario } from '../scenario.js';
import { times, underLoad } from './under-load.js';

const group = 'the server';

function twoWorkers(arena: Arena, options: ChildOptions = {}): Promise<ChaosProcess[]> {
  return Promise.all([1, 2].map(() => arena.start({ settings: { batchSize: 5 }, ...options })));
}

/** Whoever has prepared statements finds its plans gone, and its rows in other places. */
const rewritten: Scenario = {
  group,
  name: 'the table is rewritten, reindexed and altered under load',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    await twoWorkers(arena, { claimTimeoutMs: LONG_CLAIM_MS });
    const statements = [
      'vacuum full outbox',
      `alter table outbox add column note text default repeat('x', 100)`,
      'reindex table outbox',
      'alter table outbox alter column note type varchar(200)',
      'cluster outbox using outbox_pkey',
      'alter table outbox drop column note',
      'analyze outbox',
    ];
    await underLoad(
      arena,
      'maintenance',
      statements.map((text) => () => arena.query(text)),
    );
  },
};

/** Enqueues, claims and settles fail meanwhile. What a claim took before it failed can't be given back: it expires. */
const renamed: Scenario = {
  group,
  name: 'the table is renamed under load, and back',
  run: async (arena) => {
    const workers = await twoWorkers(arena);
    const troubles = (): number => workers.reduce((sum, worker) => sum + worker.heardTimes('trouble'), 0);
    const renameAndBack = async (): Promise<void> => {
      const before = troubles();
      await arena.query('alter table outbox rename to outbox_away');
      await arena.until('somebody missed it', async () => troubles() > before);
      await arena.query('alter table outbox_away rename to outbox');
    };
    await underLoad(arena, 'no table', times(arena.isShort ? 2 : 6, renameAndBack));
  },
};

/** The server can't know what that one did to the memory they share: it ends all sessions and recovers from its log. */
const backendKilled: Scenario = {
  group,
  name: 'SIGKILL of a back-end, after which the server recovers',
  serverSettings: {},
  run: async (arena) => {
    await twoWorkers(arena);
    const killOne = async (): Promise<void> => {
      const [victim] = await arena.query<{ pid: number }>(
        'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      if (!victim) throw new Error('nobody is connected');
      process.kill(victim.pid, 'SIGKILL');
      const there = () => arena.query('select from pg_stat_activity where pid = $1', [victim.pid]);
      await arena.until('the server has begun anew', async () => (await there()).length === 0);
    };
    await underLoad(arena, 'SIGKILL of a back-end', times(arena.isShort ? 1 : 4, killOne));
  },
};

export const maintenanceScenarios: readonly Scenario[] = [rewritten, renamed, backendKilled];

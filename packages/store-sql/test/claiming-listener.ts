import type { Clock } from '@postcommit/core';
import { ClaimSessions, type SqlExecutor } from '@postcommit/store-sql';
import pg from 'pg';
import { PostgresWakeup } from '../src/postgres/listen/postgres-wakeup.js';
import type { PostgresFixture } from './postgres-fixture.js';
import { WakeupRecord } from './wakeup-record.js';

/** A listener connection that claims run on. */
export interface ClaimingListener {
  readonly claimSessions: ClaimSessions;
  readonly record: WakeupRecord;
  /** How many claims were run on the connection, and under how many names, by plans for all parameters. */
  prepared(): Promise<{ claims: number; names: number }>;
  /** On the connection itself. */
  query(text: string): Promise<unknown>;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface ListenerOptions {
  readonly executor?: SqlExecutor<never>;
  readonly connection?: pg.ClientConfig;
  readonly clock?: Clock;
  readonly claimSessions?: ClaimSessions;
}

/** Ready to claim when it is given, and until it is stopped. */
export async function claimingListener(
  { url, executor: onPool }: PostgresFixture,
  { executor = onPool, connection = {}, clock, claimSessions = new ClaimSessions() }: ListenerOptions = {},
): Promise<ClaimingListener> {
  const record = new WakeupRecord();
  let client = new pg.Client();
  const wakeup = new PostgresWakeup(executor, {
    claimSessions,
    ...(clock && { clock }),
    listenClient: () => {
      client = new pg.Client({ connectionString: url, ...connection });
      return client;
    },
  });
  const stop = wakeup.subscribe(record);
  await record.next(2);
  return {
    claimSessions,
    record,
    prepared: async () => {
      const { rows } = await client.query<{ claims: number; names: number }>(
        `select coalesce(sum(generic_plans), 0)::int as claims, count(*)::int as names
         from pg_prepared_statements where name like 'postcommit%' and custom_plans = 0`,
      );
      return rows[0] ?? { claims: 0, names: 0 };
    },
    query: (text) => client.query(text),
    get pid() {
      return (client as unknown as { processID: number }).processID;
    },
    stop,
  };
}

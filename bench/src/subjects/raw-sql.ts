import { randomUUID } from 'node:crypto';
import { postgres, type SqlStatement, TableName } from '@postcommit/store-sql';
import type pg from 'pg';
import type { DuePlace } from '../../../packages/store-sql/src/dialect.js';
import {
  BATCH_SIZE,
  type Consumer,
  type OpenSubject,
  orderOf,
  type Place,
  payload,
  type Report,
  type Subject,
} from '../subject.js';
import { businessTransaction } from './business-transaction.js';
import { createOutbox, outboxTable } from './outbox-table.js';

const table = new TableName();

/**
 * The limit: a program that only runs the same two statements, on the same table, and reads the payloads, as any
 * publisher has to.
 */
export const rawSql: Subject = {
  id: 'raw-sql',
  name: 'raw SQL limit, one connection',
  settings:
    'our own claim and settle statements by hand, batches of 1,000, each behind the last one; a claim alone searches from the front; a plain INSERT',
  isLimit: true,
  prepare: createOutbox,
  cannot: { keys: 'runs the statements for rows without a key' },
  open: async (place) => onTable(place, 1),
};

export const rawSqlTwice: Subject = {
  id: 'raw-sql-two',
  name: 'raw SQL limit, two connections',
  settings: 'the same on two connections at once',
  isLimit: true,
  prepare: createOutbox,
  cannot: {
    keys: 'runs the statements for rows without a key',
    transact: 'enqueues as on one connection',
    claim: 'claims as on one connection',
  },
  open: async (place) => onTable(place, 2),
};

export const rawSqlPrepared: Subject = {
  id: 'raw-sql-prepared',
  name: 'raw SQL limit, prepared INSERT',
  settings: 'the same INSERT under a name, parsed and planned once for each connection: not behind a pooler',
  isLimit: true,
  prepare: createOutbox,
  cannot: { consume: 'consumes as on one connection', claim: 'claims as on one connection' },
  open: async (place) => onTable(place, 1, 'enqueue'),
};

function onTable(place: Place, connections: number, statementName?: string): OpenSubject {
  return {
    ...outboxTable(place),
    consume: (report) => consumeOn(place, connections, report),
    transact: (orders) =>
      businessTransaction(place, orders, (client) =>
        client.query({ ...insertOf(orders), ...(statementName !== undefined && { name: statementName }) }),
      ),
    claim: async () => {
      const client = await place.pool.connect();
      try {
        const startedAt = performance.now();
        const batch = await claimOn(client);
        const ms = performance.now() - startedAt;
        await settleOn(client, batch);
        return { ms, rows: batch.ids.length };
      } finally {
        client.release();
      }
    },
    close: async () => {},
  };
}

/** As one writes it by hand: for one message, and for many. */
function insertOf(orders: readonly number[]): { text: string; values: unknown[] } {
  const ids = orders.map(() => randomUUID());
  const payloads = orders.map((order) => JSON.stringify(payload(order)));
  if (orders.length === 1) {
    const text = "insert into outbox (id, topic, payload) values ($1, 'order.paid', $2)";
    return { text, values: [ids[0], payloads[0]] };
  }
  const text = `insert into outbox (id, topic, payload)
    select id, 'order.paid', payload from unnest($1::varchar[], $2::jsonb[]) as u(id, payload)`;
  return { text, values: [ids, payloads] };
}

async function consumeOn({ pool }: Place, connections: number, report: Report): Promise<Consumer> {
  let isStopped = false;
  let after: DuePlace | undefined;
  const loop = async (): Promise<void> => {
    const client = await pool.connect();
    while (!isStopped) {
      const batch = await claimOn(client, after);
      after = batch.end;
      if (batch.ids.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      else report(batch.payloads.map((text) => orderOf(JSON.parse(text))));
      await settleOn(client, batch);
    }
    client.release();
  };
  const loops = Array.from({ length: connections }, loop);
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(loops);
    },
  };
}

interface Batch {
  readonly token: string;
  readonly ids: readonly string[];
  readonly payloads: readonly string[];
  /** Of a full one, where it ended. */
  readonly end: DuePlace | undefined;
}

async function claimOn(client: pg.PoolClient, after?: DuePlace): Promise<Batch> {
  const token = randomUUID();
  const claim = { token, timeoutMs: 300_000, limit: BATCH_SIZE, mayRetake: !after, after, isBacklog: true };
  const rows = (await run(client, postgres.claimUnkeyed(table, claim))).filter(({ id }) => id !== null);
  return {
    token,
    ids: rows.map(({ id }) => String(id)),
    payloads: rows.map((row) => String(row.payload)),
    end: rows.length === BATCH_SIZE ? endOf(rows) : undefined,
  };
}

function endOf(rows: ReadonlyArray<Record<string, unknown>>): DuePlace {
  const { created_at, available_at, seq } = rows.at(-1) ?? {};
  return { availableAt: String(Math.round(Number(available_at ?? created_at) * 1_000)), seq: String(seq) };
}

async function settleOn(client: pg.PoolClient, { token, ids }: Batch): Promise<void> {
  if (ids.length > 0) await run(client, postgres.settleDispatched(table, token, [...ids]));
}

async function run(
  client: pg.PoolClient,
  { text, values }: SqlStatement,
): Promise<Array<Record<string, unknown>>> {
  return (await client.query<Record<string, unknown>>(text, [...values])).rows;
}

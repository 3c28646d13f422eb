import { randomUUID } from 'node:crypto';
import { openMysqlDatabase, usableMysql } from '@internal/test-database/mysql-database';
import { OutboxDispatcher } from '@postcommit/core';
import {
  mysql,
  runWork,
  SqlOutboxSchema,
  type SqlRecord,
  type SqlWork,
  TableName,
} from '@postcommit/store-sql';
import { TypeormOutboxStore, typeormDatabase } from '@postcommit/store-typeorm';
import { type Connection, createConnection } from 'mysql2/promise';
import { DataSource, type EntityManager } from 'typeorm';
import { BATCH_SIZE, monotonicMs, type OpenSubject, payload, type Subject } from '../subject.js';
import { CountingPublisher } from './counting-publisher.js';

const table = new TableName({}, mysql.quote);

/** What runs on the MariaDB or MySQL of this machine instead of on the benchmark's own PostgreSQL. */
export interface MariadbSubject extends Subject {
  openMariadb(): Promise<OpenMariadb>;
}

export interface OpenMariadb extends Pick<OpenSubject, 'seed' | 'left' | 'transact' | 'close'> {
  /** Publishes all rows, batch by batch. Returns how many. */
  dispatchAll(): Promise<number>;
}

export const postcommitMariadb: MariadbSubject = {
  ...onMariadbOnly(),
  id: 'mariadb-store-typeorm',
  name: 'postcommit, store-typeorm on MariaDB',
  settings:
    'one dispatcher, one call of `dispatchPending` after another, batches of 1,000, to a publisher that takes batches',
  isOurs: true,
  openMariadb: () => MariadbOutbox.open(dispatchAll, (outbox, em, orders) => enqueue(outbox, em, orders)),
};

export const rawMariadb: MariadbSubject = {
  ...onMariadbOnly(),
  id: 'mariadb-raw-sql',
  name: 'raw SQL limit on MariaDB',
  settings:
    'the same statements by hand on one connection of mysql2, and the payloads are read; enqueues by an INSERT by hand in the same TypeORM transaction',
  isLimit: true,
  openMariadb: () => MariadbOutbox.open(dispatchAllByHand, (_, em, orders) => enqueueByHand(em, orders)),
};

function onMariadbOnly(): Pick<Subject, 'absent' | 'prepare' | 'open' | 'cannot'> {
  const why = 'runs on MariaDB only';
  return {
    absent: async () => ((await usableMysql()) ? undefined : 'not run: no MariaDB or MySQL answers'),
    prepare: async () => {},
    open: () => Promise.reject(new Error(why)),
    cannot: { consume: why, transact: why, claim: why },
  };
}

type Dispatch = (outbox: MariadbOutbox) => Promise<number>;
type Enqueue = (outbox: MariadbOutbox, em: EntityManager, orders: readonly number[]) => Promise<unknown>;

/** A database of its own, with an outbox and a table of orders. */
class MariadbOutbox implements OpenMariadb {
  readonly url: string;
  readonly store: TypeormOutboxStore;
  readonly #dataSource: DataSource;
  readonly #drop: () => Promise<void>;
  readonly #dispatch: Dispatch;
  readonly #enqueue: Enqueue;

  private constructor(
    dataSource: DataSource,
    database: { readonly url: string; close(): Promise<void> },
    dispatch: Dispatch,
    enqueueOne: Enqueue,
  ) {
    this.url = database.url;
    this.store = new TypeormOutboxStore(dataSource);
    this.#dataSource = dataSource;
    this.#drop = () => database.close();
    this.#dispatch = dispatch;
    this.#enqueue = enqueueOne;
  }

  static async open(dispatch: Dispatch, enqueueOne: Enqueue): Promise<MariadbOutbox> {
    const database = await openMysqlDatabase();
    const dataSource = await new DataSource({
      type: 'mariadb',
      url: database.url,
      poolSize: 20,
    }).initialize();
    const { executor, table: place } = typeormDatabase(dataSource);
    await new SqlOutboxSchema(executor, place).ensure();
    await dataSource.query(
      'create table orders (id bigint auto_increment primary key, number bigint not null)',
    );
    return new MariadbOutbox(dataSource, database, dispatch, enqueueOne);
  }

  async seed({ rows }: { readonly rows: number }): Promise<void> {
    for (let start = 0; start < rows; start += BATCH_SIZE) {
      const orders = Array.from({ length: Math.min(BATCH_SIZE, rows - start) }, (_, index) => start + index);
      await this.store.enqueue(orders.map(entryOf));
    }
  }

  async left(): Promise<number> {
    return (await this.store.count()).pending;
  }

  dispatchAll(): Promise<number> {
    return this.#dispatch(this);
  }

  async transact(orders: readonly number[]): Promise<number> {
    await this.#dataSource.transaction(async (em) => {
      await em.query('insert into orders (number) values (?)', [orders[0] ?? 0]);
      if (orders.length > 0) await this.#enqueue(this, em, orders);
    });
    return monotonicMs();
  }

  async close(): Promise<void> {
    await this.#dataSource.destroy();
    await this.#drop();
  }
}

async function dispatchAll({ store }: MariadbOutbox): Promise<number> {
  const publisher = new CountingPublisher(() => {});
  const dispatcher = new OutboxDispatcher(store, publisher, { batchSize: BATCH_SIZE });
  let total = 0;
  for (let fetched = BATCH_SIZE; fetched > 0; total += fetched) {
    ({ fetched } = await dispatcher.dispatchPending());
  }
  return total;
}

async function dispatchAllByHand({ url }: MariadbOutbox): Promise<number> {
  const connection = await createConnection(url);
  let total = 0;
  for (let fetched = BATCH_SIZE; fetched > 0; total += fetched) {
    const token = randomUUID();
    const claim = {
      token,
      timeoutMs: 300_000,
      limit: BATCH_SIZE,
      mayRetake: true,
      after: undefined,
      isBacklog: false,
    };
    const records = await inTransaction(connection, mysql.claimUnkeyed(table, claim));
    const rows = records.filter(({ id }) => id !== null);
    for (const row of rows) JSON.parse(String(row.payload));
    const ids = rows.map(({ id }) => String(id));
    if (ids.length > 0) await inTransaction(connection, mysql.settleDispatched(table, token, ids));
    fetched = rows.length;
  }
  await connection.end();
  return total;
}

async function inTransaction(connection: Connection, work: SqlWork): Promise<SqlRecord[]> {
  for (const text of mysql.begin) await connection.query(text);
  const records = await runWork(work, async ({ text, values }) => {
    const [rows] = await connection.query(text, [...values]);
    return Array.isArray(rows) ? (rows as SqlRecord[]) : [];
  });
  await connection.query('commit');
  return records;
}

function enqueue({ store }: MariadbOutbox, em: EntityManager, orders: readonly number[]): Promise<unknown> {
  return store.enqueueWith(em, orders.map(entryOf));
}

async function enqueueByHand(em: EntityManager, orders: readonly number[]): Promise<void> {
  for (const order of orders) {
    await em.query('insert into outbox (id, topic, payload) values (?, ?, ?)', [
      randomUUID(),
      'order.paid',
      JSON.stringify(payload(order)),
    ]);
  }
}

function entryOf(order: number): { topic: string; payload: Record<string, unknown> } {
  return { topic: 'order.paid', payload: payload(order) };
}

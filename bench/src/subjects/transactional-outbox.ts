import { randomUUID } from 'node:crypto';
import {
  createReplicationSemaphoreConcurrencyController,
  DatabaseSetupExporter,
  getDisabledLogger,
  IsolationLevel,
  initializeMessageStorage,
  initializePollingMessageListener,
  initializeReplicationMessageListener,
  type PollingListenerConfig,
  type ReplicationListenerConfig,
} from 'pg-transactional-outbox';
import { setUp, type WalLevel } from '../place.js';
import { type OpenSubject, orderOf, type Place, payload, type Report, type Subject } from '../subject.js';
import { businessTransaction } from './business-transaction.js';
import { pages } from './outbox-table.js';

const logger = getDisabledLogger();
const FUNCTION = 'next_outbox_messages';

const cannot = {
  claim: 'its claim cannot be timed alone',
  keys: 'not tried',
  poisonHeads: 'not tried',
  seedLater: 'not tried',
} as const;

export const outboxPolling: Subject = {
  id: 'pg-transactional-outbox',
  name: 'pg-transactional-outbox 0.5, polling, best',
  settings:
    'batches of 1,000 from the start, polls every 25 ms, lock of 60 s, 40 connections, messages stored as parallel; handles each in a transaction of its own',
  prepare: preparePolling,
  cannot,
  open: (place) =>
    openWith(place, (report) => {
      const connections = { connectionString: place.url, max: 40 };
      const config = pollingConfig(connections, {
        nextMessagesBatchSize: 1_000,
        nextMessagesPollingIntervalInMs: 25,
        nextMessagesLockInMs: 60_000,
      });
      return initializePollingMessageListener(config, handlerFor(report), logger, {
        batchSizeStrategy: async () => 1_000,
        messageProcessingTransactionLevelStrategy: () => IsolationLevel.ReadCommitted,
      });
    }),
};

export const outboxPollingDefaults: Subject = {
  id: 'pg-transactional-outbox-defaults',
  name: 'pg-transactional-outbox 0.5, polling, defaults',
  settings: 'nothing set: batches of 5, polls every 500 ms; messages stored as parallel',
  prepare: preparePolling,
  cannot: { ...cannot, transact: 'enqueues as with its best settings' },
  open: (place) =>
    openWith(place, (report) =>
      initializePollingMessageListener(
        pollingConfig({ connectionString: place.url }, {}),
        handlerFor(report),
        logger,
      ),
    ),
};

const replication = {
  absent: async (walLevel: WalLevel) =>
    walLevel === 'logical' ? undefined : 'not run: needs `--wal-level logical`',
  prepare: prepareReplication,
  cannot: {
    ...cannot,
    transact: 'enqueues as with polling',
    secondProcess: 'one slot is for one process',
    seedDispatched: 'reads no table',
  },
};

export const outboxReplication: Subject = {
  id: 'pg-transactional-outbox-replication',
  name: 'pg-transactional-outbox 0.5, replication, best',
  settings:
    'logical replication, 20 messages at once, 20 connections; handles each in a transaction of its own',
  ...replication,
  open: (place) =>
    openReplication(place, 20, {
      concurrencyStrategy: createReplicationSemaphoreConcurrencyController(20),
      messageProcessingTransactionLevelStrategy: () => IsolationLevel.ReadCommitted,
    }),
};

export const outboxReplicationDefaults: Subject = {
  id: 'pg-transactional-outbox-replication-defaults',
  name: 'pg-transactional-outbox 0.5, replication, defaults',
  settings: 'logical replication with nothing set: one message at a time',
  ...replication,
  open: (place) => openReplication(place, undefined, {}),
};

async function openReplication(
  place: Place,
  max: number | undefined,
  strategies: Parameters<typeof initializeReplicationMessageListener>[3],
): Promise<OpenSubject> {
  const connections = { connectionString: place.url, ...(max !== undefined && { max }) };
  const open = await openWith(place, (report) =>
    initializeReplicationMessageListener(
      replicationConfig(place, connections),
      handlerFor(report),
      logger,
      strategies,
    ),
  );
  return {
    ...open,
    close: async () => {
      await open.close();
      if (process.env.BENCH_SUBJECT === undefined) await dropSlot(place);
    },
  };
}

async function prepareReplication(place: Place): Promise<void> {
  const config = { ...setup(place), publication: 'outbox_publication', replicationSlot: slotOf(place) };
  const script = DatabaseSetupExporter.createReplicationScript(config);
  // Its comment says so: the slot has to be made in a transaction of its own.
  const [before = '', after = ''] = script.split(/^-- NOTE.*$/m);
  await setUp(place, async (pool) => {
    await pool.query(before);
    await pool.query(after);
  });
}

async function preparePolling(place: Place): Promise<void> {
  const script = DatabaseSetupExporter.createPollingScript({ ...setup(place), nextMessagesName: FUNCTION });
  await setUp(place, (pool) => pool.query(script));
}

function setup({ name }: Place) {
  const table = { schema: 'public', table: 'outbox', listenerRole: 'postgres' };
  return { outboxOrInbox: 'outbox' as const, database: name, ...table };
}

const common = {
  dbSchema: 'public',
  dbTable: 'outbox',
  enableMaxAttemptsProtection: false,
  enablePoisonousMessageProtection: false,
};

function pollingConfig(
  dbListenerConfig: PollingListenerConfig['dbListenerConfig'],
  settings: Partial<PollingListenerConfig['settings']>,
): PollingListenerConfig {
  return {
    outboxOrInbox: 'outbox',
    dbListenerConfig,
    settings: { ...common, nextMessagesFunctionName: FUNCTION, ...settings },
  };
}

function replicationConfig(
  place: Place,
  dbListenerConfig: ReplicationListenerConfig['dbListenerConfig'],
): ReplicationListenerConfig {
  const replication = { dbPublication: 'outbox_publication', dbReplicationSlot: slotOf(place) };
  return { outboxOrInbox: 'outbox', dbListenerConfig, settings: { ...common, ...replication } };
}

/** Slots belong to the whole server. */
function slotOf({ name }: Place): string {
  return `slot_${name}`;
}

/** A database with a slot can't be dropped; a listener that just stopped may still hold it. */
async function dropSlot(place: Place): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const dropped = await place.pool
      .query('select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = $1', [
        slotOf(place),
      ])
      .then(
        () => true,
        () => false,
      );
    if (dropped) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function handlerFor(report: Report) {
  return { handle: async (message: { payload: unknown }) => report([orderOf(message.payload)]) };
}

async function openWith(
  place: Place,
  listen: (report: Report) => [shutdown: () => Promise<void>],
): Promise<OpenSubject> {
  const settings = { ...common, nextMessagesFunctionName: FUNCTION };
  const store = initializeMessageStorage({ outboxOrInbox: 'outbox', settings }, logger);
  return {
    seed: async ({ rows, firstOrder = 0 }) => {
      for (const page of pages(rows)) {
        await place.pool.query(
          `insert into outbox (id, aggregate_type, aggregate_id, message_type, concurrency, payload)
           select gen_random_uuid(), 'order', '1', 'order.paid', 'parallel', payload
           from unnest($1::jsonb[]) as u(payload)`,
          [page.map((index) => JSON.stringify(payload(firstOrder + index)))],
        );
      }
    },
    left: async () => {
      const { rows } = await place.pool.query<{ count: number }>(
        'select count(*)::int as count from outbox where processed_at is null and abandoned_at is null',
      );
      return rows[0]?.count ?? 0;
    },
    consume: async (report) => {
      const [shutdown] = listen(report);
      return { stop: shutdown };
    },
    transact: (orders) =>
      businessTransaction(place, orders, async (client) => {
        for (const order of orders) {
          const what = { aggregateType: 'order', aggregateId: String(order), messageType: 'order.paid' };
          const message = { id: randomUUID(), ...what, concurrency: 'parallel' as const };
          await store({ ...message, payload: payload(order) }, client);
        }
      }),
    seedDispatched: async (rows) => {
      await place.pool.query(
        `insert into outbox (id, aggregate_type, aggregate_id, message_type, concurrency, payload, created_at, processed_at)
         select gen_random_uuid(), 'order', '1', 'order.paid', 'parallel',
           jsonb_build_object('orderId', n, 'note', repeat('x', 160)), now() - interval '2 days', now() - interval '1 day'
         from generate_series(1, $1::int) n`,
        [rows],
      );
    },
    close: async () => {},
  };
}

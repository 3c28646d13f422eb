import { createServer, type Socket } from 'node:net';
import { startPostgres } from '@internal/test-database/postgres';
import { createTestDatabase } from '@internal/test-database/test-database';
import { VirtualClock } from '@postcommit/store-memory';
import type { ListenClientLike, SqlExecutor } from '@postcommit/store-sql';
import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { PostgresWakeup } from '../src/postgres/listen/postgres-wakeup.js';
import { listenOn } from './listener.js';
import { usePostgres } from './postgres-fixture.js';
import { tcpProxy } from './tcp-proxy.js';
import { WakeupRecord } from './wakeup-record.js';

const fixture = usePostgres();
/** Longer than the longest first wait before a reconnect. */
const FIRST_RECONNECT_MS = 1_000;
const CHECK_EVERY_MS = 30_000;
const ANSWER_MS = 5_000;
const PROOF_MS = 5_000;
const STEP_MS = 10_000;
/** What a subscription that works begins with. */
const BEGUN = ['listening', 'hint'];

/** Counts its timers, so that a test can see that none is left. */
class CountingClock extends VirtualClock {
  timers = 0;

  override schedule(delayMs: number, callback: () => void): () => void {
    this.timers += 1;
    let isOver = false;
    const over = (): void => {
      if (!isOver) this.timers -= 1;
      isOver = true;
    };
    const cancel = super.schedule(delayMs, () => {
      over();
      callback();
    });
    return () => {
      over();
      cancel();
    };
  }
}

interface Subscribed {
  readonly record: WakeupRecord;
  /** Resolves when another probe was sent. */
  probeSent(): Promise<void>;
  stop(): Promise<void>;
}

let clock: CountingClock;
let clients: pg.Client[];

beforeEach(() => {
  clock = new CountingClock();
  clients = [];
});

function clientOn(url: string): () => pg.Client {
  return () => {
    const client = new pg.Client({ connectionString: url, application_name: 'listener' });
    clients.push(client);
    return client;
  };
}

interface SubscribeOptions {
  readonly listenClient?: () => ListenClientLike;
  readonly executor?: SqlExecutor<never>;
  readonly table?: string;
}

function subscribe(options: SubscribeOptions = {}): Subscribed {
  const { executor = pgExecutor(fixture.pool), ...rest } = options;
  const record = new WakeupRecord();
  let tell: () => void = () => {};
  const telling: SqlExecutor<never> = async (statements) => {
    const records = await executor(statements);
    tell();
    return records;
  };
  const wakeup = new PostgresWakeup(telling, { listenClient: clientOn(fixture.url), clock, ...rest });
  const stop = wakeup.subscribe(record);
  onTestFinished(stop);
  const probeSent = (): Promise<void> =>
    new Promise((resolve) => {
      tell = resolve;
    });
  return { record, stop, probeSent };
}

/** On our side; whether the other side noticed is another matter. */
function openSockets(): number {
  return clients.filter(({ connection }) => !connection.stream.destroyed).length;
}

/** The server processes of our listening connections. */
async function backends(): Promise<number[]> {
  const found = await fixture.query(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'listener'`,
  );
  return found.map(({ pid }) => Number(pid));
}

/** A process ends a moment after its client has left. */
async function expectNoBackends(): Promise<void> {
  await expect.poll(backends, { timeout: 20_000, interval: 5 }).toEqual([]);
}

const entry = { topic: 'order.paid', payload: {} };

describe('a subscription', () => {
  it('proves that it receives notifications, then hints once, and again at each enqueue of another process', async () => {
    const { record } = subscribe();
    expect(record.happened).toEqual([]);
    expect(await record.next(2)).toEqual(BEGUN);
    await new PgOutboxStore(fixture.pool).enqueue(entry);
    expect(await record.next()).toEqual(['hint']);
  });

  it('knows a notification of one commit from those for any number', async () => {
    const { record } = subscribe();
    await record.next(2);
    const store = new PgOutboxStore(fixture.pool);
    await store.enqueue(entry);
    await record.next();
    await fixture.query(`select pg_notify('postcommit_outbox', '')`);
    await record.next();
    expect(record.kinds).toEqual(['burst', 'commit', 'burst']);
  });

  it('is not woken by the probes of others or by other tables', async () => {
    const first = subscribe();
    expect(await first.record.next(2)).toEqual(BEGUN);
    const second = subscribe();
    expect(await second.record.next(2)).toEqual(BEGUN);
    await fixture.query(`select pg_notify('postcommit_other', '')`);
    await fixture.query(`select pg_notify('postcommit_outbox', '')`);
    // The server delivers notifications to a session before it answers the next query.
    for (const client of clients) await client.query('select 1');
    expect([first.record.rest(), second.record.rest()]).toEqual([['hint'], ['hint']]);
  });

  it('sends nothing that other listeners mistake for rows', async () => {
    const listener = await listenOn(fixture);
    await subscribe().record.next(2);
    expect(await listener.taken()).toEqual([expect.stringMatching(/^probe:/)]);
  });

  it.each(['Orders', 'select', `x${'y'.repeat(39)}`])(
    'receives notifications of a table called %s',
    async (table) => {
      const { record } = subscribe({ table });
      expect(await record.next(2)).toEqual(BEGUN);
      await fixture.query('select pg_notify($1, $2)', [`postcommit_${table}`, '']);
      expect(await record.next()).toEqual(['hint']);
    },
  );

  it('uses one connection, which is checked twice a minute', async () => {
    const make = clientOn(fixture.url);
    const queries: Array<Promise<unknown>> = [];
    const { record } = subscribe({
      listenClient: () => {
        const client = make();
        const query = client.query.bind(client);
        return Object.assign(client, {
          query: (text: string) => {
            const answer = query(text);
            queries.push(answer);
            return answer;
          },
        });
      },
    });
    await record.next(2);
    expect(await backends()).toHaveLength(1);
    for (let checks = 1; checks <= 3; checks++) {
      await clock.advance(CHECK_EVERY_MS);
      expect(queries, 'LISTEN and the checks').toHaveLength(1 + checks);
      await Promise.all(queries);
    }
    expect(record.rest()).toEqual([]);
    expect(clients).toHaveLength(1);
  });
});

describe('a connection that is lost', () => {
  it('is replaced, with a hint for anything missed', async () => {
    const { record } = subscribe();
    await record.next(2);
    const [pid] = await backends();
    await fixture.query('select pg_terminate_backend($1)', [pid]);
    expect(await record.next()).toEqual(['retrying']);
    expect(record.errors).toMatchObject([{ code: '57P01' }]);
    await clock.advance(FIRST_RECONNECT_MS);
    expect(await record.next(2)).toEqual(BEGUN);
    await fixture.query(`select pg_notify('postcommit_outbox', '')`);
    expect(await record.next()).toEqual(['hint']);
    expect(await backends()).toHaveLength(1);
  });

  it('silently is noticed by a check', async () => {
    const proxy = await tcpProxy(fixture.url);
    const { record } = subscribe({ listenClient: clientOn(proxy.url) });
    await record.next(2);
    proxy.freeze();
    await clock.advance(CHECK_EVERY_MS);
    expect(record.rest()).toEqual([]);
    await clock.advance(ANSWER_MS);
    expect(await record.next()).toEqual(['retrying']);
    expect(openSockets()).toBe(0);
    proxy.thaw();
    await clock.advance(FIRST_RECONNECT_MS);
    expect(await record.next(2)).toEqual(BEGUN);
  });

  it('is retried less and less often, up to every half minute', async () => {
    let attempts = 0;
    const { record } = subscribe({
      listenClient: () => {
        attempts += 1;
        throw new Error('no address');
      },
    });
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 10; attempt++) {
      expect(await record.next()).toEqual(['retrying']);
      expect(attempts).toBe(attempt);
      const beforeMs = clock.monotonicMs();
      while (attempts === attempt) await clock.advance(50);
      waits.push(clock.monotonicMs() - beforeMs);
    }
    expect(waits[0]).toBeGreaterThanOrEqual(500);
    expect(waits[0]).toBeLessThanOrEqual(1_050);
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_050);
    expect(Math.min(...waits.slice(5))).toBeGreaterThanOrEqual(15_000);
  });

  it('is replaced after a restart of the server', { timeout: 60_000 }, async () => {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const pool = new pg.Pool({ connectionString: server.url });
    // There is no store that reports the connection that the restart cuts, so it is a warning of the process.
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    onTestFinished(() => pool.end());
    const { record, stop } = subscribe({
      executor: pgExecutor(pool),
      listenClient: clientOn(server.url),
    });
    expect(await record.next(2)).toEqual(BEGUN);
    await server.restart('immediate');
    expect(await record.next()).toEqual(['retrying']);
    await clock.advance(FIRST_RECONNECT_MS);
    expect(await record.next(2)).toEqual(BEGUN);
    await stop();
  });
});

describe('if LISTEN does not work', () => {
  /** NOTIFY never crosses databases: to the listener it looks like a transaction pooler, where it is never heard. */
  async function elsewhere(): Promise<() => pg.Client> {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    return clientOn(database.url);
  }

  it('reports it with what to do, and gives up', async () => {
    const { record, probeSent } = subscribe({ listenClient: await elsewhere() });
    await probeSent();
    await clock.advance(PROOF_MS);
    expect(await record.next()).toEqual(['given up']);
    expect(record.errors).toMatchObject([{ name: 'OutboxError', code: 'INVALID_CONFIG' }]);
    expect(String(record.errors[0])).toMatch(/PgBouncer.*listenClient/);
    expect(clock.timers).toBe(0);
    await clock.advance(3_600_000);
    expect(clients).toHaveLength(1);
    expect(record.rest()).toEqual([]);
    await expect(clients[0]?.query('select 1')).rejects.toThrow();
  });

  it('does not give up if it worked before', async () => {
    const other = await elsewhere();
    let make = clientOn(fixture.url);
    const { record, probeSent } = subscribe({ listenClient: () => make() });
    await record.next(2);
    make = other;
    await fixture.query('select pg_terminate_backend($1)', await backends());
    expect(await record.next()).toEqual(['retrying']);
    const sent = probeSent();
    await clock.advance(FIRST_RECONNECT_MS);
    await sent;
    await clock.advance(PROOF_MS);
    expect(await record.next()).toEqual(['retrying']);
    make = clientOn(fixture.url);
    await clock.advance(2 * FIRST_RECONNECT_MS);
    expect(await record.next(2)).toEqual(BEGUN);
  });

  it('does not give up because the probe could not be sent', async () => {
    const executor = pgExecutor(fixture.pool);
    let isDown = true;
    const { record } = subscribe({
      executor: (statements) =>
        isDown ? Promise.reject(new Error('no connection free')) : executor(statements),
    });
    expect(await record.next()).toEqual(['retrying']);
    expect(String(record.errors[0])).toContain('no connection free');
    isDown = false;
    await clock.advance(FIRST_RECONNECT_MS);
    expect(await record.next(2)).toEqual(BEGUN);
  });

  it('does not give up because the probe was never answered', async () => {
    let isAsked: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const { record } = subscribe({
      executor: () => {
        isAsked();
        return new Promise(() => {});
      },
    });
    await asked;
    await clock.advance(STEP_MS);
    expect(await record.next()).toEqual(['retrying']);
  });
});

describe('after the end', () => {
  it('nothing is received, and no timer or connection remains', async () => {
    const { record, stop } = subscribe();
    await record.next(2);
    await stop();
    expect(clock.timers).toBe(0);
    await fixture.query(`select pg_notify('postcommit_outbox', '')`);
    await clock.advance(3_600_000);
    expect(record.rest()).toEqual([]);
    await expectNoBackends();
    await stop();
  });

  it('at once, while connecting, nothing is received either', async () => {
    const { record, stop } = subscribe();
    await stop();
    expect(clock.timers).toBe(0);
    expect(openSockets()).toBe(0);
    await expectNoBackends();
    expect(record.happened).toEqual([]);
  });

  it('of a subscription whose server accepts connections but never answers', async () => {
    const sockets: Socket[] = [];
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const asked = new Promise<void>((resolve) => {
      server.once('connection', (socket) => {
        sockets.push(socket.on('error', () => {}).on('data', () => resolve()));
      });
    });
    const port = (server.address() as { port: number }).port;
    const { record, stop } = subscribe({ listenClient: clientOn(`postgres://x@127.0.0.1:${port}/x`) });
    await asked;
    await stop();
    expect(clock.timers).toBe(0);
    expect(openSockets()).toBe(0);
    expect(record.happened).toEqual([]);
  });

  it('of a connection that went silent and can’t close cleanly', async () => {
    const proxy = await tcpProxy(fixture.url);
    const { record, stop } = subscribe({ listenClient: clientOn(proxy.url) });
    await record.next(2);
    proxy.freeze();
    const stopped = stop();
    await clock.advance(1_000);
    await stopped;
    expect(clock.timers).toBe(0);
    expect(openSockets()).toBe(0);
  });

  it('while it waits to reconnect', async () => {
    const { record, stop } = subscribe({
      listenClient: () => {
        throw new Error('no address');
      },
    });
    await record.next();
    await stop();
    expect(clock.timers).toBe(0);
    await clock.advance(3_600_000);
    expect(record.rest()).toEqual([]);
  });

  it('while it waits for its probe', async () => {
    let isAsked: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const { record, stop } = subscribe({
      executor: () => {
        isAsked();
        return new Promise(() => {});
      },
    });
    await asked;
    await stop();
    expect(clock.timers).toBe(0);
    expect(record.happened).toEqual([]);
    await expectNoBackends();
  });
});

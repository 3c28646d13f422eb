import { OutboxDispatcher, type OutboxEntry, type OutboxRow } from '@postcommit/core';
import { MemoryOutboxStore, MemoryTable, VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import type { WebhookOptions } from '../src/index.js';
import { openServer, publisherOf } from './fixture.js';
import type { RecordingServer } from './recording-server.js';

const MINUTE_MS = 60_000;

/** An outbox whose time passes at once; only HTTP is real. */
function openOutbox(options: Pick<WebhookOptions, 'url'> & Partial<WebhookOptions>) {
  const clock = new VirtualClock();
  const store = new MemoryOutboxStore({ table: new MemoryTable(clock) });
  const backoff = { type: 'fixed', delayMs: 1_000 } as const;
  const dispatcher = new OutboxDispatcher(store, publisherOf(options), { clock, maxAttempts: 3, backoff });
  /** Dispatches at every half minute. */
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += MINUTE_MS / 2) {
      await dispatcher.dispatchPending();
      await clock.advance(MINUTE_MS / 2);
    }
  };
  const failed = async (): Promise<OutboxRow[]> => {
    const rows = await store.peek({}, 1_000);
    return rows.filter(({ attempts, lastError }) => attempts > 0 || lastError !== undefined);
  };
  return { store, pass, failed };
}

function entries(count: number, fields: Partial<OutboxEntry> = {}): OutboxEntry[] {
  return Array.from({ length: count }, (_, payload) => ({ topic: 'order.paid', payload, ...fields }));
}

function payloadsOf({ requests }: RecordingServer): unknown[] {
  return requests.map(({ body }) => JSON.parse(body.toString()) as unknown);
}

describe('a receiver that is away for hours', () => {
  const away: ReadonlyArray<[string, (server: RecordingServer) => unknown]> = [
    ['its port is closed', (server) => server.close()],
    ['a bad deploy answers 404', (server) => answerWith(server, 404)],
    ['a bad deploy redirects to a login page', (server) => answerWith(server, 302)],
    ['its credentials are wrong', (server) => answerWith(server, 401)],
    ['it is overloaded', (server) => answerWith(server, 503)],
    [
      'it cuts every connection',
      (server) => {
        server.answer = ({ socket }) => void socket?.destroy();
      },
    ],
  ];

  test.each(away)('costs no attempts, and everything arrives once it is back: %s', async (_, goAway) => {
    const server = await openServer();
    const answer = server.answer;
    const { store, pass, failed } = openOutbox({ url: server.url });
    await goAway(server);
    await store.enqueue(entries(60));
    await pass(120 * MINUTE_MS);
    expect(await store.count()).toMatchObject({ pending: 60, dead: 0 });
    expect(await failed()).toEqual([]);
    // It was asked now and then, not flooded.
    expect(server.requests.length).toBeLessThan(300);

    server.answer = answer;
    server.requests.length = 0;
    await server.listen();
    await pass(5 * MINUTE_MS);
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 60 });
    expect(new Set(payloadsOf(server)).size).toBe(60);
  });

  test('keeps the order of a key', async () => {
    const server = await openServer();
    const { store, pass } = openOutbox({ url: server.url });
    for (const entry of entries(20, { key: 'account-7' })) await store.enqueue(entry);
    await server.close();
    await pass(10 * MINUTE_MS);
    await server.listen();
    await pass(30 * MINUTE_MS);
    expect(payloadsOf(server)).toEqual(entries(20).map(({ payload }) => payload));
  });

  test('is left alone for as long as it asks', async () => {
    const server = await openServer();
    const { store, pass } = openOutbox({ url: server.url });
    server.answer = (response) => response.writeHead(429, { 'retry-after': '1800' }).end();
    await store.enqueue(entries(10));
    await pass(29 * MINUTE_MS);
    expect(server.requests.length).toBeLessThanOrEqual(10);
    expect(await store.count()).toMatchObject({ pending: 10, dead: 0 });
  });
});

describe('one of many endpoints that is away', () => {
  test('does not stop the others, and costs no attempts', async () => {
    const [here, away] = [await openServer(), await openServer()];
    await away.close();
    const url = ({ topic }: OutboxRow): string => (topic === 'away' ? away.url : here.url);
    const { store, pass, failed } = openOutbox({ url, allowPrivateAddresses: ['127.0.0.1'] });
    await store.enqueue([...entries(20, { topic: 'away' }), ...entries(20, { topic: 'here' })]);
    // One batch, in which the rows of the one that is away come first.
    await pass(MINUTE_MS / 2);
    expect(new Set(payloadsOf(here)).size).toBe(20);
    await pass(60 * MINUTE_MS);
    expect(await store.count()).toMatchObject({ pending: 20, dispatched: 20, dead: 0 });
    expect(await failed()).toEqual([]);
    await away.listen();
    await pass(5 * MINUTE_MS);
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 40 });
  });

  test('may be a tenant behind a shared host, by destinationOf', async () => {
    const server = await openServer();
    server.answer = (response, { path }) => response.writeHead(path === '/a' ? 500 : 204).end();
    const { store, pass, failed } = openOutbox({
      url: async ({ topic }) => `${server.url}/${topic}`,
      destinationOf: ({ topic }) => `tenant ${topic}`,
      allowPrivateAddresses: true,
    });
    await store.enqueue([...entries(20, { topic: 'a' }), ...entries(20, { topic: 'b' })]);
    await pass(30 * MINUTE_MS);
    expect(await store.count()).toMatchObject({ pending: 20, dispatched: 20, dead: 0 });
    expect(await failed()).toEqual([]);
  });
});

test('a message that the receiver refuses is dead at once, and the others arrive', async () => {
  const server = await openServer();
  server.answer = (response, { body }) => response.writeHead(body.toString() === '3' ? 422 : 204).end();
  const { store, pass } = openOutbox({ url: server.url });
  await store.enqueue(entries(10));
  await pass(MINUTE_MS);
  expect(await store.count()).toMatchObject({ pending: 0, dispatched: 9, dead: 1 });
});

function answerWith(server: RecordingServer, status: number): void {
  server.answer = (response) => response.writeHead(status, { location: '/login' }).end();
}

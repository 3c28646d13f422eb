import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTestDatabase, type TestDatabase } from '@internal/test-database/test-database';
import { createOutbox, type OutboxRow, ProcessedMessages } from '@postcommit/core';
import { webhookPublisher } from '@postcommit/publisher-webhook';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cloudEventOf, handleOnce, type WebhookMessage, webhookReceiver } from '../src/index.js';
import { NEW, OLD, OTHER, signedHeaders } from './signed-webhooks.js';

describe('what publisher-webhook sends', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let processed: ProcessedMessages<pg.PoolClient>;
  let server: Server;
  let url: string;
  let receiver: ReturnType<typeof webhookReceiver>;
  let payloads: unknown[];
  const statuses: number[] = [];
  const row: OutboxRow = {
    ...{ id: 'row-1', topic: 'order.paid', payload: { customer: 'Zoë' }, headers: {}, retry: {} },
    ...{ createdAt: new Date(), availableAt: new Date(), attempts: 0, retakes: 0 },
  };
  const publish = (secret: string | string[]): Promise<unknown> =>
    webhookPublisher({ url, secret, cloudEvents: { source: '/shop' } }).publish(row, {
      attempt: 1,
      signal: new AbortController().signal,
    });

  async function credit(message: WebhookMessage): Promise<boolean> {
    return inTransaction(pool, (tx) =>
      handleOnce(processed, tx, { consumer: 'points', id: message.id }, async () => {
        payloads.push(cloudEventOf(message).data);
        await tx.query('update points set total = total + 10');
      }),
    );
  }

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url });
    const outbox = createOutbox({ store: pgStore(pool), worker: false });
    await outbox.migrate();
    processed = outbox.app.get(ProcessedMessages);
    await pool.query('create table points (total int)');
    server = createServer(async (request, response) => {
      const answer = await receiver(request, credit);
      statuses.push(answer.status);
      await pool.query('select 1'); // others do more before they answer
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  beforeEach(async () => {
    await pool.query('truncate outbox_processed, points');
    await pool.query('insert into points values (0)');
    statuses.length = 0;
    payloads = [];
    receiver = webhookReceiver({ secret: OLD });
  });

  afterEach(() => server.closeAllConnections());

  afterAll(async () => {
    server.close();
    await pool.end();
    await database.drop();
  });

  async function total(): Promise<number> {
    const { rows } = await pool.query('select total from points');
    return rows[0].total;
  }

  it('is handled once by a server of Node, however often it is sent', async () => {
    await publish(OLD);
    await publish([NEW, OLD]);
    receiver = webhookReceiver({ secret: [NEW, OTHER] });
    await publish([NEW, OLD]);
    expect(statuses).toEqual([204, 200, 200]);
    expect(payloads).toEqual([{ customer: 'Zoë' }]);
    expect(await total()).toBe(10);
  });

  it('is not handled with a secret of someone else, and the sender may try again', async () => {
    await expect(publish(OTHER)).rejects.toMatchObject({ name: 'UnavailableError' });
    expect(statuses).toEqual([401]);
    expect(await total()).toBe(0);
  });

  it('is answered with 413 on the same connection while it is still being sent', async () => {
    receiver = webhookReceiver({ secret: OLD, maxBodyBytes: 10 });
    const headers = { ...signedHeaders(), 'content-length': 1_000_000 };
    const sending = httpRequest(url, { method: 'POST', headers });
    sending.on('error', () => {});
    sending.write('x'.repeat(1_000));
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    sending.destroy();
  });
});

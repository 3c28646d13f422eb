import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTestDatabase, type TestDatabase } from '@internal/test-database/test-database';
import {
  createOutbox,
  type OutboxRow,
  PermanentError,
  ProcessedMessages,
  TransientError,
} from '@postcommit/core';
import { webhookPublisher } from '@postcommit/publisher-webhook';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cloudEventOf, handleOnce, type WebhookMessage, webhookReceiver } from '../src/index.js';
import { NEW, OLD, OTHER, type Signing, secondsFromNow, signedHeaders } from './signed-webhooks.js';

const body = '{"amount":12}';
type WebhookHandler = Parameters<ReturnType<typeof webhookReceiver>>[1];

const first: WebhookHandler = async () => true;
const known: WebhookHandler = async () => false;
const never: WebhookHandler = async () => {
  throw new Error('the handler must not be called');
};

function fetched(signing: Signing = {}, content: ReadableStream | string = signing.body ?? body): Request {
  const headers = signedHeaders({ body, ...signing });
  return new Request('http://x', { method: 'POST', headers, body: content, duplex: 'half' } as RequestInit);
}

const receive = webhookReceiver({ secret: OLD });

describe('a webhook is answered', () => {
  it('with 204 if the handler ran, and with 200 if the message was known', async () => {
    const seen: WebhookMessage[] = [];
    const answer = await receive(fetched(), async (message) => seen.push(message) === 1);
    expect(answer).toEqual({ status: 204, headers: {}, body: null });
    expect(seen).toMatchObject([{ id: 'm-1' }]);
    expect(seen[0]?.json()).toEqual({ amount: 12 });
    expect(await receive(fetched(), known)).toEqual({ status: 200, headers: {}, body: null });
  });

  it('in a form that Response takes', async () => {
    expect(new Response((await receive(fetched(), first)).body, await receive(fetched(), first)).status).toBe(
      204,
    );
    const refused = await receive(fetched({ secrets: [OTHER] }), never);
    const response = new Response(refused.body, refused);
    expect(response.status).toBe(401);
    expect(await response.text()).toBe('The webhook was refused: none of its signatures is right.\n');
  });

  it.each([
    ['another secret', { secrets: [OTHER] }],
    ['an old time', { timestamp: secondsFromNow(-400) }],
    ['a time to come', { timestamp: secondsFromNow(400) }],
  ])('with 401 for %s, and the handler is not called', async (_, signing) => {
    expect(await receive(fetched(signing), never)).toMatchObject({ status: 401 });
  });

  it('with 401 for another body, and without a signature', async () => {
    expect(await receive(fetched({}, '{"amount":13}'), never)).toMatchObject({ status: 401 });
    const unsigned = new Request('http://x', { method: 'POST', body });
    expect(await receive(unsigned, never)).toMatchObject({ status: 401 });
    expect(unsigned.bodyUsed, 'nobody reads the body of a stranger').toBe(false);
  });

  it('with 400 for what can not be read', async () => {
    const request = (): Request => fetched({ body: 'no JSON' });
    expect(await receive(request(), async (message) => message.json() === 1)).toMatchObject({
      status: 400,
      body: expect.stringContaining('the body of the webhook is not JSON'),
      error: expect.objectContaining({ code: 'INVALID_MESSAGE' }),
    });
    expect(await receive(request(), async (message) => cloudEventOf(message).id === 'x')).toMatchObject({
      status: 400,
    });
  });

  it('with 422 for what is never accepted, and with 503 for what fails; only we see why', async () => {
    for (const [status, error] of [
      [422, new PermanentError('secret')],
      [503, new Error('secret')],
      [503, new TransientError('secret')],
      [503, 'secret'],
    ] as const) {
      const answer = await receive(fetched(), async () => Promise.reject(error));
      expect(answer).toMatchObject({ status, error });
      expect(answer.body).not.toContain('secret');
    }
  });
});

describe('a body', () => {
  const limited = webhookReceiver({ secret: OLD, maxBodyBytes: body.length, bodyTimeoutMs: 100 });
  const streamOf = (...chunks: string[]): ReadableStream => new Blob(chunks).stream();

  it('may have as many bytes as allowed, and no more', async () => {
    expect(await limited(fetched(), first)).toMatchObject({ status: 204 });
    const longer = `${body} `;
    expect(await limited(fetched({ body: longer }), never)).toMatchObject({
      status: 413,
      headers: { connection: 'close' },
    });
    const headers = signedHeaders({ body: longer });
    const given = { headers, body: Buffer.from(longer) };
    expect(await limited(given, never)).toMatchObject({ status: 413 });
  });

  it('is not read further than allowed, even if it never ends', async () => {
    let pulled = 0;
    let isCancelled = false;
    const endless = new ReadableStream({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(8));
      },
      cancel: () => {
        isCancelled = true;
      },
    });
    expect(await limited(fetched({}, endless), never)).toMatchObject({ status: 413 });
    expect(isCancelled).toBe(true);
    expect(pulled).toBeLessThan(10);
  });

  it('that does not arrive is waited for only so long', async () => {
    const silent = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) });
    expect(await limited(fetched({}, silent), never)).toMatchObject({ status: 408 });
  });

  it('that is cut off is not handled', async () => {
    const cut = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
    expect(await receive(fetched({}, cut), never)).toMatchObject({ status: 408 });
  });

  it('may come in pieces, be empty, or have been read before', async () => {
    expect(await receive(fetched({}, streamOf('{"amou', 'nt":12}')), first)).toMatchObject({ status: 204 });
    const empty = new Request('http://x', { method: 'POST', headers: signedHeaders({ body: '' }) });
    expect(await receive(empty, first)).toMatchObject({ status: 204 });
    const headers = signedHeaders({ body });
    expect(await receive({ headers, body }, first)).toMatchObject({ status: 204 });
    const nest = { headers, rawBody: Buffer.from(body), body: JSON.parse(body) };
    expect(await receive(nest, first)).toMatchObject({ status: 204 });
  });

  it('must not have been parsed or read by others', async () => {
    const gone = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('raw body'),
    });
    const used = fetched();
    await used.text();
    await expect(receive(used, never)).rejects.toThrow(gone);
    await expect(receive({ headers: signedHeaders({ body }), body: { amount: 12 } }, never)).rejects.toThrow(
      gone,
    );
    await expect(receive({ headers: signedHeaders({ body }) }, never)).rejects.toThrow(gone);
  });
});

describe('webhookReceiver refuses', () => {
  it.each([
    [{}, 'webhookReceiver: secret must be'],
    [{ secret: OLD, secrets: OLD }, "unknown option 'secrets': did you mean 'secret'?"],
    [{ secret: OLD, maxBodyBytes: 0 }, 'maxBodyBytes must be a whole number from 1'],
    [{ secret: OLD, bodyTimeoutMs: 2 ** 31 }, 'bodyTimeoutMs must be at least 1'],
    [{ secret: OLD, toleranceMs: 5 }, 'webhookReceiver: toleranceMs must be at least 1000'],
    [undefined, 'webhookReceiver: secret must be'],
  ])('the options %j', (options, problem) => {
    expect(() => webhookReceiver(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining(problem) }),
    );
  });

  it('a request without headers, and a handler that is none or says nothing', async () => {
    const refused = (problem: string): unknown =>
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(problem) });
    await expect(receive({} as never, first)).rejects.toThrow(refused('no headers'));
    await expect(receive(undefined as never, first)).rejects.toThrow(refused('no headers'));
    await expect(receive(fetched(), undefined as never)).rejects.toThrow(
      refused('handler must be a function'),
    );
    const silent = async (): Promise<void> => {};
    await expect(receive(fetched(), silent as never)).rejects.toThrow(refused('what handleOnce returned'));
  });
});

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

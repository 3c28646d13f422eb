import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { WebhookOptions } from '../src/index.js';
import { failureOf, openServer, publish, publisherOf, rowWith } from './fixture.js';

/** Over `fetch`, and with the address guard. */
const TRANSPORTS: ReadonlyArray<[string, WebhookOptions['allowPrivateAddresses']]> = [
  ['fetch', true],
  ['guarded', ['127.0.0.0/8']],
];

describe.each(TRANSPORTS)('a response, with %s', (_, allowPrivateAddresses) => {
  async function answered(
    status: number,
    headers: Record<string, string> = {},
    body = '',
    options: object = {},
  ) {
    const server = await openServer();
    server.answer = (response) => response.writeHead(status, headers).end(body);
    const publisher = publisherOf({ url: `${server.url}/hook`, allowPrivateAddresses, ...options });
    return { server, publisher };
  }

  test.each([200, 201, 202, 204, 299])('%i means delivered', async (status) => {
    const { server, publisher } = await answered(status);
    await publish(publisher);
    expect(server.requests).toHaveLength(1);
  });

  test.each([301, 302, 303, 307, 308])('%i is not followed, and the row is not delivered', async (status) => {
    const { server, publisher } = await answered(status, { location: '/landing' });
    server.answer = (response, { path }) =>
      response.writeHead(path === '/landing' ? 200 : status, { location: '/landing' }).end();
    const error = await failureOf(publisher);
    expect(error).toMatchObject({ name: 'UnavailableError', isCertain: false });
    expect(error.message).toContain(`redirect: ${status} to /landing`);
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /hook']);
  });

  test.each([401, 403, 404, 405, 408, 425, 429, 500, 502, 503, 504])(
    '%i says that the receiver is unavailable, and may say for how long',
    async (status) => {
      const { server, publisher } = await answered(status, { 'retry-after': '7' });
      const error = await failureOf(publisher);
      expect(error).toMatchObject({ name: 'UnavailableError', isCertain: false, retryAfterMs: 7_000 });
      expect(error.message).toContain(`order.paid to 127.0.0.1:${server.port}: `);
    },
  );

  test('407 says that the receiver is unavailable', async () => {
    // fetch hides the response itself.
    const { publisher } = await answered(407);
    expect(await failureOf(publisher)).toMatchObject({ name: 'UnavailableError', isCertain: false });
  });

  test.each([400, 402, 406, 409, 410, 413, 415, 422, 431])('%i is permanent', async (status) => {
    const { publisher } = await answered(status);
    expect(await failureOf(publisher)).toMatchObject({ name: 'PermanentError', permanent: true });
  });

  test('a Retry-After of a year is cut to an hour', async () => {
    const { publisher } = await answered(503, { 'retry-after': '31536000' });
    expect(await failureOf(publisher)).toMatchObject({ retryAfterMs: 3_600_000 });
  });

  test('statuses say what a status means to this receiver', async () => {
    const statuses = { 404: 'permanent', 423: 'transient', 409: 'unavailable', 503: 'transient' } as const;
    const names: string[] = [];
    for (const status of [404, 423, 409]) {
      const { publisher } = await answered(status, {}, '', { statuses });
      names.push((await failureOf(publisher)).name);
    }
    expect(names).toEqual(['PermanentError', 'TransientError', 'UnavailableError']);
    const { publisher } = await answered(503, { 'retry-after': '7' }, '', { statuses });
    expect(await failureOf(publisher)).toMatchObject({ name: 'TransientError', retryAfterMs: 7_000 });
  });

  test('a 400 quotes the beginning of the body, without what was sent', async () => {
    const { server, publisher } = await answered(400, {}, '', {
      headers: { 'x-api-key': 'k3y-of-the-partner' },
    });
    server.answer = (response, { headers, body }) => {
      const echo = [headers['webhook-signature'], headers['x-api-key'], body.toString()].join(' and ');
      response.writeHead(400).end(`amount is missing: ${echo} ${'x'.repeat(100_000)}`);
    };
    const { message } = await failureOf(publisher, rowWith({ payload: { card: '4242' } }));
    expect(message).toContain('amount is missing: *** and *** and ***');
    expect(message.length).toBeLessThan(1_200);
  });

  test.each<[string, (body: string) => string]>([
    ['as a string of JSON', (body) => JSON.stringify({ invalid: body })],
    ['in part', (body) => `invalid: ${body.slice(0, 60)}…`],
  ])('a 400 that repeats the message %s does not show it', async (_, repeated) => {
    const { server, publisher } = await answered(400);
    server.answer = (response, { body }) => response.writeHead(400).end(repeated(body.toString()));
    const { message } = await failureOf(
      publisher,
      rowWith({ payload: { name: 'Zoë "Z" Smith', card: '4242'.repeat(9) } }),
    );
    expect(message).toContain('invalid');
    expect(message).not.toMatch(/Smith|4242/);
  });

  test('a redirect does not show the path of a URL that is a secret', async () => {
    const { server } = await answered(204);
    server.answer = (response, { path }) =>
      response.writeHead(301, { location: `https://x.example${path}` }).end();
    const url = `${server.url}/services/T0001/B0002/s3cr3t`;
    const { message } = await failureOf(publisherOf({ url, allowPrivateAddresses }));
    expect(message).toContain('301 to https://x.example***');
    expect(message).not.toContain('s3cr3t');
  });

  test('a body without end is not read to the end, and frees the connection', async () => {
    const { server, publisher } = await answered(200);
    let chunks = 0;
    server.answer = (response) => {
      const write = (): void => {
        if (response.destroyed) return;
        chunks += 1;
        response.write('x'.repeat(65_536), () => setImmediate(write));
      };
      response.writeHead(200);
      write();
    };
    await publish(publisher);
    await expect.poll(() => server.unfinished).toBe(0);
    // What the buffers of the connection hold.
    expect(chunks).toBeLessThan(400);
  });

  test('a 2xx whose body only drips is delivered soon', async () => {
    const { server, publisher } = await answered(200);
    server.answer = async (response) => {
      response.writeHead(200);
      while (!response.destroyed) {
        response.write('.');
        await sleep(50);
      }
    };
    const startMs = performance.now();
    await publish(publisher);
    expect(performance.now() - startMs).toBeLessThan(5_000);
    await expect.poll(() => server.unfinished).toBe(0);
  });

  test('a 400 whose body only drips is permanent all the same', async () => {
    const { server, publisher } = await answered(400);
    server.answer = (response) => void response.writeHead(400).write('.');
    expect(await failureOf(publisher)).toMatchObject({ permanent: true });
  });

  test('headers that only drip are cut off by the time limit', async () => {
    const { server, publisher } = await answered(200, {}, '', { timeoutMs: 300 });
    server.answer = async ({ socket, destroyed }) => {
      socket?.write('HTTP/1.1 200 OK\r\n');
      for (let sent = 0; socket && !socket.destroyed && !destroyed; sent++) {
        socket.write(`x-${sent}: y\r\n`);
        await sleep(20);
      }
    };
    const error = await failureOf(publisher);
    expect(error).toMatchObject({ name: 'UnavailableError', message: 'no answer within 300 ms' });
    await expect.poll(() => server.unfinished).toBe(0);
  });

  test('small bodies leave the connection open for the next row', async () => {
    const { server, publisher } = await answered(200, {}, 'thank you');
    for (let count = 0; count < 20; count++) await publish(publisher);
    expect(server.requests).toHaveLength(20);
    // fetch sometimes takes a second one.
    expect(await server.connections()).toBeLessThan(4);
  });

  test('what is not HTTP is an outage with a cause', async () => {
    const { server, publisher } = await answered(200);
    server.answer = ({ socket }) => void socket?.end('SSH-2.0-OpenSSH_9.2\r\n');
    const error = await failureOf(publisher);
    expect(error).toMatchObject({ name: 'UnavailableError', isCertain: false });
    expect(error.cause).toBeInstanceOf(Error);
  });

  test('a closed port is certainly away', async () => {
    const { server, publisher } = await answered(200);
    await server.close();
    expect(await failureOf(publisher)).toMatchObject({ name: 'UnavailableError', isCertain: true });
  });

  test('a signal that aborts ends the request', async () => {
    const { server, publisher } = await answered(200);
    const controller = new AbortController();
    server.answer = () => controller.abort(new Error('the claim is lost'));
    await expect(publish(publisher, rowWith(), controller.signal)).rejects.toThrow('the claim is lost');
    await expect.poll(() => server.unfinished).toBe(0);
  });

  test('a signal that has aborted sends nothing', async () => {
    const { server, publisher } = await answered(200);
    await expect(publish(publisher, rowWith(), AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
    expect(server.requests).toEqual([]);
  });
});

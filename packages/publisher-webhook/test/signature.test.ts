import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { keyOf, signatureOf } from '../src/signature.js';
import { failureOf, openServer, publish, publisherOf, rowWith, SECRET } from './fixture.js';
import type { RecordedRequest } from './recording-server.js';

const OTHER_SECRET = `whsec_${Buffer.from('another secret of 32 random bytes').toString('base64')}`;

/** Written from the text of the specification, without the code under test. */
function expectedSignature(secret: string, { headers, body }: RecordedRequest): string {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body.toString()}`;
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

describe('the signature', () => {
  test('is that of the reference implementation of Standard Webhooks', () => {
    const content = {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: 1614265330,
      body: Buffer.from('{"test": 2432232314}'),
    };
    const key = keyOf(SECRET);
    expect(key).toBeDefined();
    expect(signatureOf(key ? [key] : [], content)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  test('covers what is sent: the id, the time and every byte of the body', async () => {
    const server = await openServer();
    const before = Math.floor(Date.now() / 1_000);
    await publish(publisherOf({ url: server.url }), rowWith({ payload: 'Zoë 漢字 😀' }));
    const [request] = server.requests;
    expect(request?.headers['webhook-id']).toBe('row-1');
    expect(Number(request?.headers['webhook-timestamp'])).toBeGreaterThanOrEqual(before);
    expect(Number(request?.headers['webhook-timestamp'])).toBeLessThanOrEqual(Date.now() / 1_000);
    expect(request && expectedSignature(SECRET, request)).toBe(request?.headers['webhook-signature']);
    expect(request?.body.toString()).toBe('"Zoë 漢字 😀"');
  });

  test('is made with each secret while they are rotated', async () => {
    const server = await openServer();
    await publish(publisherOf({ url: server.url, secret: [OTHER_SECRET, SECRET] }));
    const [request] = server.requests;
    const expected = [OTHER_SECRET, SECRET].map((secret) => request && expectedSignature(secret, request));
    expect(request?.headers['webhook-signature']).toBe(expected.join(' '));
  });

  test('is made with the secret of the row, asked for at every try', async () => {
    const server = await openServer();
    const secrets: Record<string, string> = { 'tenant.a': SECRET, 'tenant.b': OTHER_SECRET };
    const publisher = publisherOf({ url: server.url, secret: async ({ topic }) => secrets[topic] ?? '' });
    await publish(publisher, rowWith({ topic: 'tenant.a' }));
    await publish(publisher, rowWith({ topic: 'tenant.b' }));
    secrets['tenant.a'] = OTHER_SECRET;
    await publish(publisher, rowWith({ topic: 'tenant.a' }));
    const expected = [SECRET, OTHER_SECRET, OTHER_SECRET].map((secret, index) => {
      const request = server.requests[index];
      return request && expectedSignature(secret, request);
    });
    expect(server.requests.map(({ headers }) => headers['webhook-signature'])).toEqual(expected);
  });

  test('is left out with secret: false, and the id is not', async () => {
    const server = await openServer();
    await publish(publisherOf({ url: server.url, secret: false }));
    const [request] = server.requests;
    expect(request?.headers).not.toHaveProperty('webhook-signature');
    expect(request?.headers['webhook-id']).toBe('row-1');
  });

  test('is new at every try, while the body and the other headers stay the same', async () => {
    const server = await openServer();
    const publisher = publisherOf({ url: server.url });
    await publish(publisher, rowWith({ attempts: 0, key: 'k', headers: { traceparent: '00-1-2-01' } }));
    await publish(publisher, rowWith({ attempts: 7, key: 'k', headers: { traceparent: '00-1-2-01' } }));
    const stable = server.requests.map(({ headers, body }) => {
      const { 'webhook-timestamp': _, 'webhook-signature': __, ...rest } = headers;
      return { rest, body: body.toString() };
    });
    expect(stable[0]).toEqual(stable[1]);
  });
});

describe('a secret that can not be had', () => {
  test.each([
    ['the vault is away', () => Promise.reject(new Error('vault is sealed'))],
    ['it has a wrong form', () => 'hunter2-hunter2'],
    ['there is none', () => []],
  ])('does not blame the row, sends nothing, and shows nothing: %s', async (_, secret) => {
    const server = await openServer();
    const error = await failureOf(publisherOf({ url: server.url, secret }));
    expect(error).toMatchObject({ name: 'UnavailableError', isCertain: false });
    expect(error.message).not.toContain('hunter2');
    expect(server.requests).toEqual([]);
  });
});

test.each([
  ['without its prefix', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ['that is not base64', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La!aSw'],
  ['of too few bytes', 'whsec_c2hvcnQ='],
  ['of too many bytes', `whsec_${Buffer.alloc(65, 7).toString('base64')}`],
  ['that is empty', ''],
])('a secret %s is refused at once, and not shown', (_, secret) => {
  const create = (): unknown => publisherOf({ url: 'https://partner.example', secret });
  expect(create).toThrow(
    expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining('whsec_') }),
  );
  expect(create).not.toThrow(secret.slice(6) || 'hunter2');
});

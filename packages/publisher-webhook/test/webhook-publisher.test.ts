import { composeModules, OutboxDispatcher, OutboxModule, OutboxStore } from '@postcommit/core';
import { errorText } from '@postcommit/core/internal';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { OutboxWebhookModule, type WebhookOptions, webhookPublisher } from '../src/index.js';
import { failureOf, openServer, publish, publisherOf, rowWith, SECRET } from './fixture.js';

describe('a request', () => {
  test('has the payload, the headers of the row, and who it is', async () => {
    const server = await openServer();
    const headers = {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'X-Tenant': 'a',
    };
    await publish(publisherOf({ url: `${server.url}/hooks?v=1` }), rowWith({ key: 'account-7', headers }));
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/hooks?v=1' });
    expect(request?.body.toString()).toBe('{"amount":7}');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': '12',
      'outbox-id': 'row-1',
      'outbox-topic': 'order.paid',
      'outbox-key': 'account-7',
      'outbox-created-at': '2026-03-29T01:02:03.456Z',
      'webhook-id': 'row-1',
      'x-tenant': 'a',
      traceparent: headers.traceparent,
    });
  });

  test('percent-encodes keys and topics that HTTP can not carry', async () => {
    const server = await openServer();
    await publish(publisherOf({ url: server.url }), rowWith({ key: ' 100% Zoë ' }));
    expect(server.requests[0]?.headers['outbox-key']).toBe('%20100%25%20Zo%C3%AB%20');
  });

  test('has the headers of the application, which win over those of the row', async () => {
    const server = await openServer();
    let token = 'first';
    const headers = async () => ({ Authorization: `Bearer ${token}` });
    const publisher = publisherOf({ url: server.url, headers });
    const row = rowWith({ headers: { authorization: 'of the row', 'user-agent': 'shop' } });
    await publish(publisher, row);
    token = 'second';
    await publish(publisher, row);
    expect(server.requests.map((request) => request.headers.authorization)).toEqual([
      'Bearer first',
      'Bearer second',
    ]);
    expect(server.requests[0]?.headers['user-agent']).toBe('shop');
  });

  test('is a CloudEvent in binary mode on request', async () => {
    const server = await openServer();
    const publisher = publisherOf({ url: server.url, cloudEvents: { source: '/shop orders' } });
    await publish(publisher, rowWith({ key: 'Zoë' }));
    const [request] = server.requests;
    expect(request?.body.toString()).toBe('{"amount":7}');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-id': 'row-1',
      'ce-source': '/shop%20orders',
      'ce-type': 'order.paid',
      'ce-time': '2026-03-29T01:02:03.456Z',
      'ce-subject': 'Zo%C3%AB',
    });
  });
});

describe('what is wrong with one row', () => {
  test.each<[string, WebhookOptions['url']]>([
    ['is not a URL', () => 'partner'],
    ['has credentials', () => 'https://shop:hunter2@partner.example'],
    ['is not a text', () => undefined as unknown as string],
  ])('is permanent, and shows nothing of its URL: it %s', async (_, url) => {
    const error = await failureOf(publisherOf({ url }));
    expect(error).toMatchObject({ permanent: true, message: expect.stringContaining('row-1') });
    expect(error.message).not.toContain('hunter2');
  });

  test.each<[string, Record<string, string>]>([
    ['a name with a space', { 'no token': 'x' }],
    ['an empty name', { '': 'x' }],
    ['a name with a line break', { 'x\r\nhost': 'x' }],
    ['a line break', { note: 'a\r\nhost: b' }],
    ['a value that is not ASCII', { city: 'Zürich' }],
    ['another host', { host: 'elsewhere.example' }],
    ['another length', { 'Content-Length': '3' }],
    ['a transfer coding', { 'transfer-encoding': 'chunked' }],
    ['a name that JavaScript knows', JSON.parse('{"__proto__":"x"}')],
    ['two names that differ only in case', { 'X-Note': '1', 'x-note': '2' }],
  ])('is permanent before anything is sent: a header with %s', async (_, headers) => {
    const server = await openServer();
    expect(await failureOf(publisherOf({ url: server.url }), rowWith({ headers }))).toMatchObject({
      permanent: true,
    });
    expect(server.requests).toEqual([]);
  });

  test('a content type that can not be sent is permanent', async () => {
    const encode = () => ({ body: '', contentType: 'text/plain\r\nhost: x' });
    expect(await failureOf(publisherOf({ url: 'http://127.0.0.1:1', encode }))).toMatchObject({
      permanent: true,
    });
  });
});

describe('what is wrong with the application', () => {
  test.each<[string, object]>([
    ["unknown option 'secrets': did you mean 'secret'?", { secrets: [] }],
    ['url is not an absolute URL', { url: '/hooks' }],
    ['url must begin with http:// or https://', { url: 'ftp://x' }],
    ['url must not have a user or password', { url: 'https://shop:hunter2@partner.example' }],
    ['to send unsigned requests, set secret: false', { secret: undefined }],
    ['secret is an empty list', { secret: [] }],
    ['timeoutMs must be at least 1', { timeoutMs: 0 }],
    ["header 'webhook-id' is set by the publisher", { headers: { 'webhook-id': 'x' } }],
    ["header 'Content-Type' is set by the publisher", { headers: { 'Content-Type': 'x' } }],
    ["header 'Host' can't be set", { headers: { Host: 'x' } }],
    ["header 'x-key' has characters", { headers: { 'x-key': 'hunter2\n' } }],
    ['statuses has 200: only 300 to 599 can be set', { statuses: { 200: 'permanent' } }],
    ['statuses: 404 must be one of', { statuses: { 404: 'delivered' } }],
    ['allowPrivateAddresses must be a boolean or a list', { allowPrivateAddresses: '10.0.0.0/8' }],
    ['got "10.0.0.0/33"', { allowPrivateAddresses: ['10.0.0.0/33'] }],
    ['got "http://x"', { allowPrivateAddresses: ['http://x'] }],
    ['got ""', { allowPrivateAddresses: [''] }],
    ['destinationOf must be a function', { destinationOf: 'x' }],
    ['encode must be a function', { encode: 'json' }],
    ['cloudEvents needs a source', { cloudEvents: {} }],
    ["cloudEvents: unknown option 'sorce'", { cloudEvents: { sorce: '/shop' } }],
  ])('is refused at once: %s', (message, options) => {
    const all = { url: 'https://partner.example', secret: SECRET, ...options };
    for (const create of [webhookPublisher, OutboxWebhookModule.forRoot]) {
      expect(() => create(all)).toThrow(
        expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining(message) }),
      );
      expect(() => create(all)).not.toThrow('hunter2');
    }
  });

  test('an asynchronous url needs destinationOf', async () => {
    const error = await failureOf(publisherOf({ url: async () => 'https://partner.example' }));
    expect(error).toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('destinationOf'),
    });
  });

  test.each([
    ['fails', () => Promise.reject(new Error('vault is sealed'))],
    ['returns a wrong header', () => ({ authorization: 'Bearer hunter2\n' })],
    ['returns nothing', () => undefined as never],
  ])('does not blame the row, and sends nothing: the function headers %s', async (_, headers) => {
    const server = await openServer();
    const error = await failureOf(publisherOf({ url: server.url, headers }));
    expect(error).toMatchObject({ name: 'UnavailableError' });
    expect(errorText(error)).not.toContain('hunter2');
    expect(server.requests).toEqual([]);
  });
});

describe('destinations', () => {
  test('are the hosts of the rows', () => {
    const publisher = publisherOf({ url: ({ topic }) => `https://${topic}.example:8443/hooks/s3cret` });
    expect(publisher.destinationOf?.(rowWith({ topic: 'acme' }))).toBe('acme.example:8443');
  });

  test('are left to the dispatcher with one URL', () => {
    expect(publisherOf({ url: 'https://partner.example' }).destinationOf).toBeUndefined();
  });
});

test('OutboxWebhookModule binds the publisher', async () => {
  const server = await openServer();
  const modules = [
    OutboxModule,
    OutboxMemoryModule,
    OutboxWebhookModule.forRoot({ url: server.url, secret: SECRET }),
  ];
  const app = composeModules(modules);
  await app.get(OutboxStore).enqueue({ topic: 'order.paid', payload: { id: 7 } });
  expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
  expect(server.requests.map(({ body }) => body.toString())).toEqual(['{"id":7}']);
  await app.stop();
});

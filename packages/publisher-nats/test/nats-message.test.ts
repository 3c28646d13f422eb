import { describe, expect, test } from 'vitest';
import { assertFits, type NatsFormat, toMessage } from '../src/nats-message.js';
import { rowOf } from './scene.js';

async function headersOf(format: NatsFormat, fields = {}): Promise<Record<string, string>> {
  const { headers } = await toMessage(rowOf('orders.paid', fields), format);
  return Object.fromEntries(headers.keys().map((name) => [name, headers.values(name).join('|')]));
}

describe('the subject of a row', () => {
  test('is its topic, or what the function says', async () => {
    expect((await toMessage(rowOf('orders.paid'), {})).subject).toBe('orders.paid');
    const subject = ({ topic, key = '' }: { topic: string; key?: string }): string => `eu.${topic}.${key}`;
    expect((await toMessage(rowOf('paid', { key: '7' }), { subject })).subject).toBe('eu.paid.7');
  });

  test.each(['a', 'orders.paid', 'a*b.c>d', 'заказ.оплачен', 'a.$b', 'a-b_c/d'])(
    'may be %s',
    async (topic) => {
      expect((await toMessage(rowOf(topic), {})).subject).toBe(topic);
    },
  );

  test.each([
    ['', 'has an empty token'],
    ['.a', 'has an empty token'],
    ['a.', 'has an empty token'],
    ['a..b', 'has an empty token'],
    ['*', 'is a wildcard'],
    ['a.*', 'is a wildcard'],
    ['a.*.b', 'is a wildcard'],
    ['>', 'is a wildcard'],
    ['a.>', 'is a wildcard'],
    ['a b', 'has a space'],
    [' a', 'has a space'],
    ['a\tb', 'has a space'],
    ['a\r\nPUB b 0', 'has a space'],
    ['a\u0000', 'has a space or a control character'],
    ['$JS.API.STREAM.DELETE.a', 'begins with $'],
    ['$SYS', 'begins with $'],
    ['\ud800', 'is not well-formed'],
    ['a'.repeat(2_049), 'is longer than 2048 bytes'],
  ])('may not be %j', async (topic, problem) => {
    await expect(toMessage(rowOf(topic), {})).rejects.toMatchObject({
      name: 'PermanentError',
      message: expect.stringContaining(problem),
    });
  });

  test.each([[undefined], [7], [null]])('may not be %j', async (found) => {
    const converting = toMessage(rowOf('a'), { subject: () => found as never });
    await expect(converting).rejects.toMatchObject({
      permanent: true,
      message: expect.stringContaining('is not a text'),
    });
  });

  test('whose function throws is permanent', async () => {
    const subject = (): never => {
      throw new Error('no tenant');
    };
    await expect(toMessage(rowOf('a'), { subject })).rejects.toMatchObject({
      permanent: true,
      cause: { message: 'no tenant' },
    });
  });
});

describe('the headers of a message', () => {
  test('are those of the row, its fields, the id for the server and the expected stream', async () => {
    const row = rowOf('orders.paid', { key: 'k', headers: { tenant: 'acme' } });
    const { headers } = await toMessage(row, { stream: 'ORDERS' });
    const all = Object.fromEntries(headers.keys().map((name) => [name, headers.get(name)]));
    expect(all).toEqual({
      tenant: 'acme',
      'outbox-id': row.id,
      'outbox-topic': 'orders.paid',
      'outbox-key': 'k',
      'outbox-created-at': '2026-11-19T10:00:00.000Z',
      'content-type': 'application/json',
      'Nats-Msg-Id': row.id,
      'Nats-Expected-Stream': 'ORDERS',
    });
  });

  test('are the same at every try', async () => {
    const row = rowOf('orders.paid', { key: 'k' });
    const wire = async (attempts: number): Promise<string> => {
      const { headers, body } = await toMessage({ ...row, attempts, lastError: `${attempts}` }, {});
      return `${String(headers)}${Buffer.from(body).toString()}`;
    };
    expect(await wire(3)).toBe(await wire(0));
  });

  test('can not be instructions to the server in a row; those of encode may, except for the id', async () => {
    for (const name of ['Nats-Rollup', 'nats-msg-id', 'NATS-Expected-Last-Sequence', 'Nats-TTL'])
      await expect(toMessage(rowOf('a', { headers: { [name]: 'all' } }), {})).rejects.toMatchObject({
        permanent: true,
        message: expect.stringContaining(`its header ${name} would be an instruction`),
      });
    const encode = () => ({
      body: 'x',
      contentType: 'text/plain',
      headers: { 'Nats-TTL': '1h', 'nats-msg-id': 'other', 'Content-Type': 'other' },
    });
    const found = await headersOf({ encode });
    expect(found).toMatchObject({ 'Nats-TTL': '1h', 'content-type': 'text/plain' });
    expect(found).not.toHaveProperty('nats-msg-id');
    expect(found).not.toHaveProperty('Content-Type');
  });

  test.each([
    ['a name with a space', { 'a b': 'c' }],
    ['a name with a colon', { 'a:b': 'c' }],
    ['a name that is not ASCII', { é: 'c' }],
    ['no name', { '': 'c' }],
    ['a value with a line break', { a: 'b\r\nc: d' }],
    ['a value with half a character', { a: '\ud800' }],
    ['a value with spaces around it', { a: ' b' }],
  ])('are refused for %s', async (_, headers) => {
    await expect(toMessage(rowOf('a', { headers: headers as never }), {})).rejects.toMatchObject({
      permanent: true,
    });
  });
});

describe('the size of a message', () => {
  test('counts headers and body in bytes, as the client sends them', async () => {
    const row = rowOf('orders.paid', { payload: 'é😀', headers: { name: 'Zoë', empty: '' } });
    const message = await toMessage(row, { stream: 'ORDERS' });
    const sent = Buffer.byteLength(String(message.headers)) + message.body.byteLength;
    expect(message.bytes).toBe(sent);
    assertFits(row, message, sent);
    expect(() => assertFits(row, message, sent - 1)).toThrow(
      `row ${row.id} can't be sent: it has ${sent} bytes`,
    );
  });
});

test('CloudEvents are structured, with the headers of the row', async () => {
  const row = rowOf('orders.paid', { key: 'k', headers: { tenant: 'acme' } });
  const { body, headers } = await toMessage(row, { cloudEvents: { source: '/orders' } });
  expect(headers.get('content-type')).toBe('application/cloudevents+json');
  expect(headers.get('tenant')).toBe('acme');
  expect(headers.get('Nats-Msg-Id')).toBe(row.id);
  expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({
    specversion: '1.0',
    id: row.id,
    type: 'orders.paid',
    subject: 'k',
    data: { total: 7 },
  });
});

import { describe, expect, test } from 'vitest';
import { PermanentError, TransientError } from '../../src/message/errors.js';
import {
  assertMessageFormat,
  cloudEventAttributes,
  type EncodedMessage,
  encodeRow,
  type MessageFormat,
  structuredCloudEvent,
} from '../../src/publish/message-format.js';
import { refusal, rowWith } from '../outbox-fixture.js';
import { refused } from './broker-fixture.js';

const createdAt = new Date('2026-11-19T10:00:00.000Z');
const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1' };
const row = rowWith({ payload: { total: 7 }, key: 'order-7', createdAt, headers: { tenant: 'acme' } });
const bytes = Uint8Array.of(0, 255, 7);

const encoded = (message: Partial<EncodedMessage>): MessageFormat => ({
  encode: () => ({ body: 'x', contentType: 'text/plain', ...message }),
});

describe('encodeRow', () => {
  test('sends the payload as JSON, with the headers and the fields of the row', async () => {
    expect(await encodeRow(row, {})).toEqual({
      body: '{"total":7}',
      contentType: 'application/json',
      headers: {
        tenant: 'acme',
        'outbox-id': 'row-1',
        'outbox-topic': 'order.paid',
        'outbox-key': 'order-7',
        'outbox-created-at': '2026-11-19T10:00:00.000Z',
      },
    });
  });

  test('is the same at every attempt, and leaves out the key of a row without one', async () => {
    const { key: _, ...unkeyed } = row;
    const again = { ...unkeyed, attempts: 3, retakes: 1, lastError: 'refused', claimToken: 'other' };
    const first = await encodeRow(unkeyed, {});
    expect(await encodeRow(again, {})).toEqual(first);
    expect(first.headers).not.toHaveProperty('outbox-key');
  });

  test.each([
    ['null', null],
    ['0', 0],
    ['""', ''],
  ])('the payload %s is a body', async (body, payload) => {
    expect(await encodeRow(rowWith({ payload }), {})).toMatchObject({ body });
  });

  test('uses encode, sync or async, with its headers', async () => {
    const message = { body: bytes, contentType: 'avro/binary', headers: { schema: '12', tenant: 'other' } };
    for (const encode of [() => message, async () => message]) {
      const { body, contentType, headers } = await encodeRow(row, { encode });
      expect({ body, contentType }).toEqual({ body: bytes, contentType: 'avro/binary' });
      expect(headers).toMatchObject({ schema: '12', tenant: 'other', 'outbox-id': 'row-1' });
    }
  });

  test('no header can pretend to be a field of the row, in whatever case', async () => {
    const forged = rowWith({ headers: { 'Outbox-ID': 'other', 'OUTBOX-TOPIC': 'other', Tenant: 'acme' } });
    const format = encoded({ headers: { 'outbox-Key': 'other', tENANT: 'b' } });
    const { headers } = await encodeRow({ ...forged, key: 'k' }, format);
    expect(headers).toEqual({
      tENANT: 'b',
      'outbox-id': 'row-1',
      'outbox-topic': 'order.paid',
      'outbox-key': 'k',
      'outbox-created-at': '1970-01-01T00:00:00.000Z',
    });
  });

  test('a header named __proto__ is a header', async () => {
    const headers = JSON.parse('{"__proto__":"a"}') as Record<string, string>;
    expect(Object.entries((await encodeRow(rowWith({ headers }), {})).headers)[0]).toEqual([
      '__proto__',
      'a',
    ]);
  });

  test('an error of encode is permanent, with the id of the row and its cause', async () => {
    const cause = new Error('no schema for order.paid');
    const encode = (): never => {
      throw cause;
    };
    const error: unknown = await encodeRow(row, { encode }).catch((caught) => caught);
    expect(error).toBeInstanceOf(PermanentError);
    expect(error).toMatchObject({ message: "row row-1 can't be encoded", cause });
  });

  test.each([
    ['a network error', refused],
    ['an error that says so', new TransientError('the registry is busy')],
  ])('%s of encode is not permanent', async (_, error) => {
    await expect(encodeRow(row, { encode: () => Promise.reject(error) })).rejects.toBe(error);
  });

  test.each([
    ['nothing', undefined],
    ['a bare body', 'x'],
    ['no body', { contentType: 'a/b' }],
    ['a body of another type', { body: 7, contentType: 'a/b' }],
    ['no content type', { body: 'x' }],
    ['a header that is no text', { body: 'x', contentType: 'a/b', headers: { a: 1 } }],
  ])('encode that returns %s is permanent', async (_, result) => {
    const error: unknown = await encodeRow(row, { encode: () => result as never }).catch((caught) => caught);
    expect(error).toBeInstanceOf(PermanentError);
    expect(error).toMatchObject({
      cause: { message: 'encode must return { body, contentType, headers? }' },
    });
  });
});

describe('cloudEventAttributes', () => {
  test('are those of CloudEvents 1.0, with partitioning and tracing', () => {
    expect(cloudEventAttributes({ ...row, headers: trace }, '/orders')).toEqual({
      specversion: '1.0',
      id: 'row-1',
      source: '/orders',
      type: 'order.paid',
      time: '2026-11-19T10:00:00.000Z',
      subject: 'order-7',
      partitionkey: 'order-7',
      ...trace,
    });
    expect(Object.keys(cloudEventAttributes(rowWith(), '/orders'))).toEqual([
      'specversion',
      'id',
      'source',
      'type',
      'time',
    ]);
  });
});

describe('structuredCloudEvent', () => {
  const eventOf = async (format: MessageFormat, of = row): Promise<Record<string, unknown>> => {
    const { body, contentType } = await structuredCloudEvent(of, '/orders', format);
    expect(contentType).toBe('application/cloudevents+json');
    return JSON.parse(String(body)) as Record<string, unknown>;
  };

  test('has the payload as data', async () => {
    expect(await eventOf({})).toEqual({
      ...cloudEventAttributes(row, '/orders'),
      datacontenttype: 'application/json',
      data: { total: 7 },
    });
  });

  test('keeps the headers of the row and of encode', async () => {
    const { headers } = await structuredCloudEvent(row, '/orders', encoded({ headers: { schema: '12' } }));
    expect(headers).toMatchObject({ schema: '12', tenant: 'acme', 'outbox-id': 'row-1' });
  });

  test('has bytes as base64 and text as text', async () => {
    expect(await eventOf(encoded({ body: bytes, contentType: 'avro/binary' }))).toMatchObject({
      datacontenttype: 'avro/binary',
      data_base64: 'AP8H',
    });
    expect(await eventOf(encoded({ body: 'a "b"', contentType: 'text/plain' }))).toMatchObject({
      data: 'a "b"',
    });
  });

  test.each(['application/json', 'application/json; charset=utf-8', 'application/vnd.order+json'])(
    'has JSON of the type %s unchanged',
    async (contentType) => {
      const format = encoded({ body: '{"n":12345678901234567890}', contentType });
      const { body } = await structuredCloudEvent(row, '/orders', format);
      expect(body).toMatch(/,"data":\{"n":12345678901234567890\}\}$/);
    },
  );

  test('a body that is not the JSON it is said to be is permanent', async () => {
    for (const body of ['{', '1},"id":"forged"', '']) {
      const format = encoded({ body, contentType: 'application/json' });
      await expect(structuredCloudEvent(row, '/orders', format)).rejects.toBeInstanceOf(PermanentError);
    }
  });
});

describe('assertMessageFormat', () => {
  test.each([
    [{ encode: 'json' }, 'natsPublisher: encode must be a function'],
    [{ cloudEvents: { source: '' } }, 'cloudEvents.source must be a URI'],
    [{ cloudEvents: {} }, 'cloudEvents.source must be a URI'],
    [{ cloudEvents: { source: '/a', sources: 1 } }, "unknown option 'sources'"],
    [{ cloudEvents: true }, 'cloudEvents'],
    [{ cloudEvents: null }, 'cloudEvents'],
  ])('refuses %j', (format, message) => {
    const check = (): void => assertMessageFormat('natsPublisher', format as unknown as MessageFormat);
    expect(check).toThrow(refusal('INVALID_CONFIG', message));
  });

  test('accepts a format', () => {
    assertMessageFormat('natsPublisher', {});
    assertMessageFormat('natsPublisher', { ...encoded({}), cloudEvents: { source: '/orders' } });
  });
});

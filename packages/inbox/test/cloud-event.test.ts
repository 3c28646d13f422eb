import { Readable } from 'node:stream';
import type { OutboxRow } from '@postcommit/core';
import { cloudEventAttributes, encodeRow, structuredCloudEvent } from '@postcommit/core/internal';
import { describe, expect, it } from 'vitest';
import { type CloudEvent, cloudEventOf } from '../src/index.js';

const now = new Date('2026-03-29T01:02:03.456Z');
const row: OutboxRow = {
  id: 'row-1',
  topic: 'order.paid',
  key: 'Zoë 100%',
  payload: { customer: 'Zoë', amount: 12 },
  headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  createdAt: now,
  availableAt: now,
  attempts: 0,
  retakes: 0,
  retry: {},
};
const parsed: CloudEvent = {
  specversion: '1.0',
  id: 'row-1',
  source: '/shop',
  type: 'order.paid',
  subject: 'Zoë 100%',
  time: '2026-03-29T01:02:03.456Z',
  datacontenttype: 'application/json',
  extensions: {
    partitionkey: 'Zoë 100%',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
  data: { customer: 'Zoë', amount: 12 },
};

type Format = Parameters<typeof structuredCloudEvent>[2];
const bytes = new Uint8Array([0, 255, 7]);
const formats: ReadonlyArray<readonly [string, Format, unknown]> = [
  ['JSON', {}, parsed.data],
  ['text', { encode: () => ({ body: 'paid', contentType: 'text/plain' }) }, 'paid'],
  ['bytes', { encode: () => ({ body: bytes, contentType: 'application/x-avro' }) }, bytes],
  ['other JSON', { encode: () => ({ body: '[1,null]', contentType: 'application/vnd.x+json' }) }, [1, null]],
];

async function structured(format: Format = {}): Promise<{ body: string; contentType: string }> {
  const { body, contentType } = await structuredCloudEvent(row, '/shop', format);
  return { body: String(body), contentType };
}

async function binary(
  prefix: string,
  encode = (value: string): string => value,
): Promise<Record<string, string>> {
  const attributes = Object.entries(cloudEventAttributes(row, '/shop'));
  const { headers } = await encodeRow(row, {});
  return {
    ...headers,
    ...Object.fromEntries(attributes.map(([name, value]) => [prefix + name, encode(value)])),
  };
}

describe('cloudEventOf reads what publishers send', () => {
  it.each(formats)('in structured mode: %s', async (_, format, data) => {
    const { body, contentType } = await structured(format);
    const event = cloudEventOf({ headers: { 'content-type': contentType }, body });
    const { contentType: datacontenttype } = await encodeRow(row, format);
    expect(event).toEqual({ ...parsed, datacontenttype, data });
  });

  it.each(formats)('in binary mode: %s', async (_, format, data) => {
    const { body, contentType } = await encodeRow(row, format);
    const headers = { ...(await binary('ce_')), 'content-type': contentType };
    const event = cloudEventOf({ headers, body });
    expect(event).toEqual({ ...parsed, datacontenttype: contentType, data });
  });

  it('over HTTP, where attributes are percent-encoded', async () => {
    const headers = await binary('ce-', encodeURIComponent);
    const event = cloudEventOf({
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(row.payload),
    });
    expect(event).toEqual(parsed);
  });

  it('over Kafka, where they are not, and all is bytes', async () => {
    const headers = Object.entries({ ...(await binary('ce_')), 'content-type': 'application/json' });
    const asBytes = new Map(headers.map(([name, value]) => [Buffer.from(name), Buffer.from(value)]));
    expect(cloudEventOf({ value: Buffer.from(JSON.stringify(row.payload)), headers: asBytes })).toEqual(
      parsed,
    );
  });

  it('over AMQP, structured and binary', async () => {
    const { body, contentType } = await structured();
    const content = Buffer.from(body);
    expect(cloudEventOf({ content, properties: { contentType, headers: {} } })).toEqual(parsed);
    const payload = Buffer.from(JSON.stringify(row.payload));
    const properties = { contentType: 'application/json', headers: await binary('cloudEvents_') };
    expect(cloudEventOf({ content: payload, properties })).toEqual(parsed);
  });

  it('over SQS and Redis, which have no content type', async () => {
    const { body } = await structured();
    expect(cloudEventOf({ Body: body })).toEqual(parsed);
    expect(cloudEventOf({ id: '1-0', message: { payload: body } })).toEqual(parsed);
    const fields = [
      'id',
      'row-1',
      'payload',
      body,
      'headers',
      '{}',
      'contentType',
      'application/cloudevents+json',
    ];
    expect(cloudEventOf(['1-0', fields])).toEqual(parsed);
  });

  it('over Kafka, with a deserializer that parses', async () => {
    const { body, contentType } = await structured();
    expect(cloudEventOf({ value: JSON.parse(body), headers: { 'content-type': contentType } })).toEqual(
      parsed,
    );
  });

  it('over Redis, with a body that is not text', () => {
    const headers = '{"ce_specversion":"1.0","ce_id":"a","ce_source":"b","ce_type":"c"}';
    expect(cloudEventOf({ id: '1-0', message: { payload: Buffer.from(bytes), headers } }).data).toEqual(
      Buffer.from(bytes),
    );
  });

  it('and has one shape, although JSON has numbers and booleans', () => {
    const attributes = {
      specversion: '1.0',
      id: 'a',
      source: 'b',
      type: 'c',
      subject: null,
      count: 5,
      isFirst: true,
    };
    const event = cloudEventOf({ Body: JSON.stringify({ ...attributes, data: null }) });
    const extensions = { count: '5', isFirst: 'true' };
    expect(event).toEqual({ specversion: '1.0', id: 'a', source: 'b', type: 'c', extensions, data: null });
  });
});

const required = { specversion: '1.0', id: 'a', source: 'b', type: 'c' };
const STRUCTURED = 'application/cloudevents+json';
const document = (fields: object): Parameters<typeof cloudEventOf>[0] => ({
  headers: { 'content-type': STRUCTURED },
  body: JSON.stringify({ ...required, ...fields }),
});

describe('cloudEventOf refuses, without quoting the message,', () => {
  it.each<[string, Parameters<typeof cloudEventOf>[0], string]>([
    [
      'a message that is none',
      { headers: { 'content-type': 'application/json' }, body: JSON.stringify(required) },
      'not a CloudEvent',
    ],
    [
      'a body that is not JSON',
      { headers: { 'content-type': STRUCTURED }, body: '{secret' },
      'is not a JSON object',
    ],
    ['a list', { headers: { 'content-type': STRUCTURED }, body: '[]' }, 'is not a JSON object'],
    [
      'a batch',
      { headers: { 'content-type': 'application/cloudevents-batch+json' }, body: '[]' },
      'application/cloudevents-batch+json are not supported',
    ],
    ['another version', document({ specversion: '0.3' }), 'not one of specversion 1.0'],
    ['no version', document({ specversion: undefined }), 'not one of specversion 1.0'],
    ['no id', document({ id: undefined }), 'has no id'],
    ['an empty source', document({ source: '' }), 'has no source'],
    ['no type', document({ type: null }), 'has no type'],
    ['an attribute that is an object', document({ extra: { secret: 1 } }), "wrong attribute 'extra'"],
    ['data twice', document({ data: 1, data_base64: 'AA==' }), 'both data and data_base64'],
    [
      'data_base64 that is no text',
      document({ data_base64: 7 }),
      'data_base64 of the CloudEvent is not a text',
    ],
    [
      'data that is not JSON',
      {
        headers: {
          'ce-specversion': '1.0',
          'ce-id': 'a',
          'ce-source': 'b',
          'ce-type': 'c',
          'content-type': 'application/json',
        },
        body: '{secret',
      },
      'is not JSON, as its content type says',
    ],
    [
      'an attribute with a broken encoding',
      {
        headers: { 'ce-specversion': '1.0', 'ce-id': 'secret%', 'ce-source': 'b', 'ce-type': 'c' },
        body: '',
      },
      'not percent-encoded',
    ],
  ])('%s', (_, message, problem) => {
    const isRefused = expect.objectContaining({
      code: 'INVALID_MESSAGE',
      message: expect.stringContaining(problem),
    });
    expect(() => cloudEventOf(message)).toThrow(isRefused);
    expect(() => cloudEventOf(message)).not.toThrow('secret');
  });
});

it('cloudEventOf refuses a request whose body nobody has read', () => {
  const unread = expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('stream'),
  });
  const headers = { 'ce-specversion': '1.0', 'ce-id': 'a', 'ce-source': 'b', 'ce-type': 'c' };
  expect(() => cloudEventOf(new Request('http://x', { method: 'POST', headers, body: '{}' }))).toThrow(
    unread,
  );
  const ofNode = Object.assign(Readable.from(['{}']), { headers });
  expect(() => cloudEventOf(ofNode)).toThrow(unread);
});

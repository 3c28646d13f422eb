import type { MessageFormat, OutboxRow } from '@postcommit/core';
import { MESSAGE_HEADERS } from '@postcommit/core/internal';
import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectFulfilled, expectPermanent, isRefused } from '../expectations.js';
import type { ReceivedMessage } from '../publisher-harness.js';
import type { Scene } from '../scene.js';
import { jsonOf, type RowFields } from '../test-rows.js';
import { headerOf } from './identity.js';

const PAYLOADS: Readonly<Record<string, unknown>> = {
  'an object': { amount: 12.5, note: null, items: [{ id: 'a' }, { id: 'b', tags: [] }], isPaid: true },
  'all planes of Unicode': 'é ü ß ñ 漢字 עברית 😀 👩‍👩‍👧 \u{10FFFD} \u2028 \u2029 \uFEFF',
  'control characters and quotes': '\u0000 \u0001 \t \n \r \u007F \u0085 " \\ / \' <>&',
  'characters that are not for interchange': '\uFFFE \uFFFF \uFDD0',
  numbers: [0, -1, 1.5e-7, 5e-324, 1.7976931348623157e308, 9007199254740991, 123456789012345680],
  'a string': 'text',
  'a number': 0,
  'a boolean': false,
  null: null,
  'an empty string': '',
  'an empty array': [],
};

const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'trace context': {
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7',
  },
  'a name in odd case': { 'X-Tenant-ID': 'acme', camelCase: 'yes' },
  'a value that is not ASCII': { customer: 'Zoë 漢字 😀' },
  'an empty value': { empty: '' },
  'a value with spaces around it': { padded: ' both ' },
  'a value with a line break': { lines: 'one\r\ntwo: three' },
  'a name that is not a token': { 'a name: odd/é': 'value' },
  'a name that JavaScript knows': JSON.parse('{"__proto__":"own","constructor":"own"}'),
};

/** Publishes a row and returns its message; undefined if it was refused for good. */
async function exchange(
  scene: Scene,
  what: string,
  fields: RowFields,
  format?: MessageFormat,
): Promise<ReceivedMessage | undefined> {
  const sender = await scene.started(format);
  const row = scene.row(fields);
  if (isRefused(await sender.publish(row), what)) return undefined;
  return scene.message(row);
}

function bodyOf({ body }: ReceivedMessage): string {
  return Buffer.from(body).toString('utf8');
}

function expectBody(message: ReceivedMessage, row: Pick<OutboxRow, 'payload'>, what: string): void {
  const expected = JSON.stringify(row.payload);
  // A comparison that prints a difference would print a megabyte.
  expect(bodyOf(message) === expected, `${what}: the body is not the JSON of the payload`).toBe(true);
}

function expectHeaders(
  scene: Scene,
  message: ReceivedMessage,
  headers: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(headers)) {
    const own = Object.hasOwn(message.headers, name) ? message.headers[name] : undefined;
    const received = scene.traits.keepsHeaderCase ? own : headerOf(message, name);
    expect(received === value, `header ${JSON.stringify(name).slice(0, 40)} was changed or lost`).toBe(true);
  }
}

export const content: BehaviourGroup = {
  name: 'content',
  behaviours: {
    'the body is the bare JSON of the payload, whatever it is': async (scene) => {
      const sender = await scene.started();
      const what = Object.keys(PAYLOADS);
      const rows = scene.rows(what.length, (index) => ({ payload: PAYLOADS[what[index] ?? ''] }));
      for (const [index, row] of rows.entries()) {
        const name = what[index] ?? '';
        if (isRefused(await sender.publish(row), name)) continue;
        const message = await scene.message(row);
        expectBody(message, row, name);
        expect(message.contentType, name).toMatch(/^application\/json\b/);
      }
    },

    'an ordinary object is never refused': async (scene) => {
      const sender = await scene.started();
      const row = scene.row({ payload: PAYLOADS['an object'], headers: HEADERS['trace context'] ?? {} });
      expectFulfilled(await sender.publish(row));
    },

    'each header arrives unchanged, or its row is refused for good': async (scene) => {
      for (const [what, headers] of Object.entries(HEADERS)) {
        const message = await exchange(scene, what, { headers });
        if (message) expectHeaders(scene, message, headers);
      }
    },

    'trace context arrives': async (scene) => {
      const headers = HEADERS['trace context'] ?? {};
      const sender = await scene.started();
      const row = scene.row({ headers });
      expectFulfilled(await sender.publish(row));
      expectHeaders(scene, await scene.message(row), headers);
    },

    'topic, key and time of the row arrive as headers': async (scene) => {
      const sender = await scene.started();
      const row = scene.row({ key: 'account-7' });
      expectFulfilled(await sender.publish(row));
      const message = await scene.message(row);
      expect(headerOf(message, MESSAGE_HEADERS.topic)).toBe(row.topic);
      expect(headerOf(message, MESSAGE_HEADERS.key)).toBe('account-7');
      expect(headerOf(message, MESSAGE_HEADERS.createdAt)).toBe('2026-03-29T01:02:03.456Z');
      expect(message.key).toBe('account-7');
    },

    'a row without a key has none at the broker': async (scene) => {
      const sender = await scene.started();
      const row = scene.row();
      expectFulfilled(await sender.publish(row));
      const message = await scene.message(row);
      expect(message.key).toBeUndefined();
      expect(headerOf(message, MESSAGE_HEADERS.key)).toBeUndefined();
    },

    'any key arrives unchanged, or its row is refused for good': async (scene) => {
      for (const key of ['Zoë 漢字 😀', ' padded ', 'a.b/c:d*>#', 'k'.repeat(255), '漢'.repeat(255)]) {
        const message = await exchange(scene, `key ${key.slice(0, 12)}`, { key });
        if (message) expect(message.key).toBe(key);
      }
    },

    'a payload of 1 MiB arrives whole, or its row is refused for good': async (scene) => {
      const payload = 'é'.repeat(524_000);
      const message = await exchange(scene, 'a payload of 1 MiB', { payload });
      if (message) expectBody(message, { payload }, 'a payload of 1 MiB');
    },

    '64 KiB of headers arrive whole, or their row is refused for good': async (scene) => {
      for (const headers of [{ long: 'h'.repeat(63_000) }, manyHeaders(500, 100)]) {
        const message = await exchange(scene, '64 KiB of headers', { headers });
        if (message) expectHeaders(scene, message, headers);
      }
    },

    'encode decides body, content type and headers': async (scene) => {
      const body = Uint8Array.from({ length: 256 }, (_, index) => index);
      const encode = () => ({ body, contentType: 'application/x-protobuf', headers: { schema: 'v3' } });
      const message = await exchange(scene, 'an encoded row', { headers: { tenant: 'a' } }, { encode });
      if (!message) throw new Error('the encoded row was refused');
      expect([...message.body]).toEqual([...body]);
      expect(message.contentType).toBe('application/x-protobuf');
      expectHeaders(scene, message, { schema: 'v3', tenant: 'a' });
    },

    'a row that cannot be encoded is refused for good and does not fail its neighbours': async (scene) => {
      const encode = (row: OutboxRow) => {
        if (row.headers.isBad) throw new RangeError('no such schema');
        return { body: jsonOf(row), contentType: 'application/json' };
      };
      const sender = await scene.started({ encode });
      const rows = scene.rows(3, (index) => (index === 1 ? { headers: { isBad: 'yes' } } : {}));
      const results = await sender.batch(rows);
      expectPermanent(results[1], 'the row that was not encoded');
      for (const index of [0, 2]) expectFulfilled(results[index], `row ${index}`);
      await scene.arrived(...rows.filter((_, index) => index !== 1));
    },

    'cloudEvents sends the attributes of CloudEvents 1.0': async (scene) => {
      const row = scene.row({ key: 'account-7', payload: { amount: 12 } });
      const sender = await scene.started({ cloudEvents: { source: '/orders' } });
      expectFulfilled(await sender.publish(row));
      const { data, ...attributes } = cloudEventOf(await scene.message(row));
      expect(data).toEqual({ amount: 12 });
      expect(attributes).toMatchObject({
        specversion: '1.0',
        id: row.id,
        source: '/orders',
        type: row.topic,
        time: '2026-03-29T01:02:03.456Z',
      });
    },
  },
};

/** Reads an event in structured mode, or in binary mode with the prefix of any binding. */
function cloudEventOf(message: ReceivedMessage): Record<string, unknown> {
  const body: unknown = JSON.parse(bodyOf(message));
  if (message.contentType?.startsWith('application/cloudevents+json')) return body as Record<string, unknown>;
  const attributes = Object.entries(message.headers).flatMap(([name, value]) => {
    const attribute = name.replace(/^(?:ce[-_]|cloudevents[:_])/i, '');
    return attribute === name ? [] : [[attribute.toLowerCase(), value] as const];
  });
  return { ...Object.fromEntries(attributes), data: body };
}

function manyHeaders(count: number, bytes: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`name-${index}`, 'v'.repeat(bytes)]),
  );
}

import { describe, expect, test } from 'vitest';
import { assertEntry, toNewRow } from '../../src/enqueue/entry-validation.js';
import type { OutboxErrorCode } from '../../src/message/errors.js';
import type { OutboxEntry } from '../../src/message/outbox-row.js';
import { refusal } from '../outbox-fixture.js';

const LIMITS = { maxPayloadBytes: 1_048_576 };
const generateId = (): string => 'generated';

function check(fields: Readonly<Record<string, unknown>>, limits = LIMITS): ReturnType<typeof toNewRow> {
  const entry = { topic: 'order.paid', payload: {}, ...fields } as OutboxEntry;
  return toNewRow(entry, 4, limits, generateId);
}

test.each([undefined, null, 5, 'text', [], () => {}])('%s is not an entry', (value) => {
  expect(() => assertEntry(value, 2)).toThrow(
    refusal('INVALID_ENTRY', 'entry 2: must be an object with topic and payload, got'),
  );
});

describe('a valid entry', () => {
  test('becomes a row with JSON text and an id', () => {
    expect(check({ payload: { id: 1, note: undefined, at: new Date(0) } })).toEqual({
      id: 'generated',
      topic: 'order.paid',
      payload: '{"id":1,"at":"1970-01-01T00:00:00.000Z"}',
    });
  });

  test('keeps every field', () => {
    const entry = {
      id: 'my-id',
      key: 'order-1',
      headers: { 'x-tenant': 'a', empty: '' },
      availableAt: new Date(5),
      retry: { maxAttempts: 3, backoff: { type: 'fixed', delayMs: 5 } },
    };
    const { retry, ...same } = entry;
    expect(check(entry)).toEqual({ ...same, ...retry, topic: 'order.paid', payload: '{}' });
  });

  test('may reach the limits', () => {
    const longest = { topic: 't'.repeat(255), key: 'k'.repeat(255), id: '~'.repeat(36) };
    expect(check(longest)).toMatchObject(longest);
    expect(check({ headers: { a: 'x'.repeat(65_535) } }).headers).toBeDefined();
    expect(check({ headers: { a: 'ü'.repeat(32_767), b: '' } }).headers).toBeDefined();
  });
});

describe('an invalid entry is rejected with its index:', () => {
  test.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['no topic', { topic: undefined }, 'topic must be a string, got undefined'],
    ['a topic that is no string', { topic: 5 }, 'topic must be a string, got number'],
    ['an empty topic', { topic: '' }, 'topic is empty'],
    ['an over-long topic', { topic: 't'.repeat(256) }, 'topic has 256 characters, 255 are allowed'],
    ['a NUL in the topic', { topic: 'a\u0000' }, 'topic contains a NUL character'],
    ['half a surrogate pair in the topic', { topic: '\ud800' }, 'topic contains half a surrogate pair'],
    ['an empty key', { key: '' }, 'key is empty'],
    ['an over-long key', { key: 'k'.repeat(256) }, 'key has 256 characters'],
    ['a null key', { key: null }, 'key must be a string, got object'],
    ['an empty id', { id: '' }, 'id must be 1 to 36 printable ASCII characters, got ""'],
    ['an over-long id', { id: 'i'.repeat(37) }, `got "${'i'.repeat(37)}"`],
    ['a blank in the id', { id: 'a b' }, 'got "a b"'],
    ['a line break in the id', { id: 'a\n' }, 'got "a\\n"'],
    ['another alphabet in the id', { id: 'ä' }, 'got "ä"'],
    ['a number as id', { id: 5 }, 'printable ASCII characters, got 5'],
    ['a symbol as id', { id: Symbol('s') }, 'id must be 1 to 36'],
    ['a BigInt as id', { id: 5n }, 'id must be 1 to 36'],
    ['null as headers', { headers: null }, 'headers must be an object of strings'],
    ['a list as headers', { headers: [] }, 'headers must be an object of strings'],
    ['text as headers', { headers: 'a: b' }, 'headers must be an object of strings'],
    ['a header that is no string', { headers: { a: 5 } }, "header 'a' must be a string, got number"],
    [
      'a header that is undefined',
      { headers: { a: undefined } },
      "header 'a' must be a string, got undefined",
    ],
    ['a header without a name', { headers: { '': 'x' } }, 'a header has an empty name'],
    ['CR and LF in a header', { headers: { a: 'x\r\nb: y' } }, "header 'a' contains a control character"],
    ['LF in a header name', { headers: { 'a\nb': 'y' } }, 'contains a control character'],
    ['NUL in a header', { headers: { a: '\u0000' } }, "header 'a' contains a control character"],
    ['a C1 control in a header', { headers: { a: 'x\u0085y' } }, "header 'a' contains a control character"],
    ['a C1 control in a header name', { headers: { 'a\u009b': 'y' } }, 'contains a control character'],
    ['DEL in a header', { headers: { a: '\u007f' } }, "header 'a' contains a control character"],
    ['half a surrogate pair in a header', { headers: { a: '\ud800' } }, "header 'a' is not valid Unicode"],
    ['half a surrogate pair in a header name', { headers: { '\ud800': '' } }, 'is not valid Unicode'],
    ['headers one byte over', { headers: { a: 'x'.repeat(65_536) } }, 'have 65537 bytes, 65536 are allowed'],
    ['headers over in bytes only', { headers: { a: 'ü'.repeat(32_768) } }, 'headers have 65537 bytes'],
    [
      'an invalid date',
      { availableAt: new Date(Number.NaN) },
      'availableAt must be a valid Date, got Invalid Date',
    ],
    [
      'a date before the year 1000',
      { availableAt: new Date('0999-12-31T23:59:59.999Z') },
      'availableAt must lie between the years 1000 and 9999, got 0999-12-31T23:59:59.999Z',
    ],
    [
      'a date after the year 9999',
      { availableAt: new Date('+010000-01-01T00:00:00.000Z') },
      'availableAt must lie between the years 1000 and 9999, got +010000-01-01T00:00:00.000Z',
    ],
    ['the last date of JavaScript', { availableAt: new Date(8.64e15) }, 'between the years 1000 and 9999'],
    ['a number as date', { availableAt: 5 }, 'availableAt must be a valid Date, got 5'],
    ['no payload', { payload: undefined }, "payload is undefined, which JSON can't hold"],
    ['a payload that JSON changes', { payload: { a: [Number.NaN] } }, 'payload.a[0] is NaN'],
  ])('%s', (_name, fields, message) => {
    expect(() => check(fields)).toThrow(refusal('INVALID_ENTRY', `entry 4: `));
    expect(() => check(fields)).toThrow(refusal('INVALID_ENTRY', message));
  });

  test('an invalid retry policy', () => {
    expect(() => check({ retry: { maxAttempts: 0 } })).toThrow(
      refusal('INVALID_RETRY_POLICY', 'entry 4: maxAttempts must be'),
    );
    expect(() => check({ retry: null })).toThrow(refusal('INVALID_RETRY_POLICY', 'entry 4: retry must be'));
    expect(() => check({ retry: { backoff: () => 5 } })).toThrow(
      refusal('INVALID_RETRY_POLICY', 'entry 4: backoff of an entry must be plain data'),
    );
  });

  test('an error of toJSON is the cause', () => {
    const cause = new Error('no JSON');
    const payload = {
      toJSON: () => {
        throw cause;
      },
    };
    expect(() => check({ payload })).toThrow(
      refusal('INVALID_ENTRY', 'entry 4: payload could not be serialized to JSON'),
    );
    expect(() => check({ payload })).toThrow(expect.objectContaining({ cause }));
  });
});

describe('the size of a payload', () => {
  const code: OutboxErrorCode = 'PAYLOAD_TOO_LARGE';

  test('may be 1 MiB of JSON and not a byte more', () => {
    expect(check({ payload: 'x'.repeat(1_048_574) }).payload).toHaveLength(1_048_576);
    expect(() => check({ payload: 'x'.repeat(1_048_575) })).toThrow(
      refusal(code, 'entry 4: payload has 1048577 bytes of JSON, maxPayloadBytes is 1048576'),
    );
  });

  test('counts bytes, not characters', () => {
    const limits = { maxPayloadBytes: 10 };
    expect(check({ payload: 'üüüü' }, limits).payload).toBe('"üüüü"');
    expect(() => check({ payload: 'üüüüx' }, limits)).toThrow(refusal(code, 'payload has 11 bytes'));
    expect(check({ payload: '😀😀' }, limits).payload).toBe('"😀😀"');
    expect(() => check({ payload: '😀😀x' }, limits)).toThrow(refusal(code, 'payload has 11 bytes'));
    expect(() => check({ payload: '€€€' }, limits)).toThrow(refusal(code, 'payload has 11 bytes'));
  });
});

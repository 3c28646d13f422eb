import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorText } from '../src/error-text.js';

describe('the text of an error', () => {
  test('is its message', () => {
    expect(errorText(new Error('connection refused'))).toBe('connection refused');
  });

  test('is its name when it has no message', () => {
    expect(errorText(new TypeError())).toBe('TypeError');
  });

  test('continues with its causes', () => {
    const error = new Error('fetch failed', { cause: new Error('connect', { cause: 'ECONNREFUSED' }) });
    expect(errorText(error)).toBe('fetch failed: connect: ECONNREFUSED');
  });

  test('ends after five causes, also when they form a circle', () => {
    const error = new Error('again');
    error.cause = error;
    expect(errorText(error)).toBe('again: again: again: again: again');
  });

  test('lists what an AggregateError gathered', () => {
    const error = new AggregateError(
      [new Error('IPv6'), new Error('IPv4', { cause: 'timeout' })],
      'all failed',
    );
    expect(errorText(error)).toBe('all failed: IPv6; IPv4; timeout');
  });

  test('is only the message for an AggregateError that gathered nothing', () => {
    expect(errorText(new AggregateError([], 'all failed'))).toBe('all failed');
  });

  test('is the message also for an error of another realm', () => {
    const foreign: unknown = runInNewContext(
      "new Error('from another realm', { cause: new Error('deeper') })",
    );
    expect(errorText(foreign)).toBe('from another realm: deeper');
  });

  test('never fails, even when reading the message does', () => {
    const hostile = Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('no message for you');
      },
    });
    expect(() => errorText(hostile)).not.toThrow();
    expect(() => errorText(Object.assign(new Error('x'), { message: Symbol('odd') }))).not.toThrow();
  });
});

describe('the text of what is no error', () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  test.each<[string, unknown, string]>([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a string', 'just text', 'just text'],
    ['an empty string', '', ''],
    ['a number', 42, '42'],
    ['an object', { code: 7 }, '{"code":7}'],
    ['a cyclic object', cyclic, '[object Object]'],
    ['a symbol', Symbol('odd'), 'Symbol(odd)'],
    ['a function', Math.max, 'function max() { [native code] }'],
    ['an object whose toJSON gives nothing', { toJSON: () => undefined }, '[object Object]'],
  ])('%s', (_name, thrown, text) => {
    expect(errorText(thrown)).toBe(text);
  });
});

describe('the text that is stored', () => {
  const bytes = (text: string): number => Buffer.byteLength(text);

  test('has at most 8 KiB, counted in bytes', () => {
    expect(errorText(new Error('x'.repeat(8_192)))).toBe('x'.repeat(8_192));
    expect(errorText(new Error('x'.repeat(8_193)))).toBe('x'.repeat(8_192));
    expect(errorText(new Error('ü'.repeat(8_192)))).toBe('ü'.repeat(4_096));
  });

  test('is never cut within a character', () => {
    const text = errorText(new Error(`x${'😀'.repeat(3_000)}`));
    expect(text).toBe(`x${'😀'.repeat(2_047)}`);
    expect(bytes(text)).toBeLessThanOrEqual(8_192);
  });

  test('holds no NUL and no half surrogate pair', () => {
    expect(errorText(new Error('a\u0000b\ud800c\udc00d'))).toBe('a\ufffdb\ufffdc\ufffdd');
  });

  test('masks credentials in addresses', () => {
    const error = new Error('no route to postgres://app:secret@db:5432/shop', {
      cause: 'via https://token@proxy.example/ and http://open.example/?mail=me@example.org',
    });
    expect(errorText(error)).toBe(
      'no route to postgres://***@db:5432/shop: via https://***@proxy.example/ and http://open.example/?mail=me@example.org',
    );
  });

  test('masks a password that contains an @', () => {
    expect(errorText(new Error('postgres://app:s@cret@db:5432/shop'))).toBe('postgres://***@db:5432/shop');
    expect(errorText(new Error('postgres://app:s/c/ret@db:5432/shop'))).toBe('postgres://***@db:5432/shop');
  });

  test('fits and is storable whatever was thrown', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 12_000 }), fc.anything()), (thrown) => {
        for (const value of [thrown, new Error('failed', { cause: thrown })]) {
          const text = errorText(value);
          expect(bytes(text)).toBeLessThanOrEqual(8_192);
          expect(text.isWellFormed()).toBe(true);
          expect(text).not.toContain('\u0000');
        }
      }),
    );
  });
});

import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorText } from '../../src/message/error-text.js';

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

  test('ends after five causes, even if they form a cycle', () => {
    const error = new Error('again');
    error.cause = error;
    expect(errorText(error)).toBe('again: again: again: again: again');
  });

  test('lists the errors of an AggregateError', () => {
    const error = new AggregateError(
      [new Error('IPv6'), new Error('IPv4', { cause: 'timeout' })],
      'all failed',
    );
    expect(errorText(error)).toBe('all failed: IPv6; IPv4; timeout');
  });

  test('is only the message for an empty AggregateError', () => {
    expect(errorText(new AggregateError([], 'all failed'))).toBe('all failed');
  });

  test('is bounded for an AggregateError of thousands, nested five deep', () => {
    let read = 0;
    const counted = (): Error =>
      Object.defineProperty(new Error(), 'message', { get: () => `inner ${Math.ceil(++read / 2)}` });
    const tree = (depth: number): Error =>
      depth === 0 ? counted() : new AggregateError(Array(60).fill(tree(depth - 1)), 'all failed');
    expect(errorText(tree(4))).toContain('all failed: all failed; all failed');
    expect(read).toBeLessThan(200);
    const wide = new AggregateError(Array.from({ length: 10_000 }, counted), 'all failed');
    expect(errorText(wide)).toMatch(/^all failed: inner \d+; inner \d+/);
    expect(read).toBeLessThan(400);
  });

  test('is the message for an error of another realm too', () => {
    const foreign: unknown = runInNewContext(
      "new Error('from another realm', { cause: new Error('deeper') })",
    );
    expect(errorText(foreign)).toBe('from another realm: deeper');
  });

  test('never fails, even if reading the message does', () => {
    const hostile = Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('no message for you');
      },
    });
    expect(() => errorText(hostile)).not.toThrow();
    expect(() => errorText(Object.assign(new Error('x'), { message: Symbol('odd') }))).not.toThrow();
  });
});

describe('the text of a value that is not an error', () => {
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

  test('contains no NUL and no lone surrogate', () => {
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

  test('masks secrets by their names', () => {
    const error = new Error('login failed: password=hunter2', { cause: new Error('Bearer abc123') });
    expect(errorText(error)).toBe('login failed: password=***: Bearer ***');
  });

  test('shows no part of a secret that is cut in two', () => {
    const secret = 'ab'.repeat(20_000);
    const places = [
      `amqp://app:${secret}@mq`,
      `password=${secret}`,
      `"token":"x ${secret}"`,
      `Bearer 1${secret}`,
    ];
    for (const place of places) {
      expect(errorText(`${'x '.repeat(100)}${place}`)).not.toContain('abab');
      // What is masked before it makes room for what the first cut went through.
      for (const at of [32_700, 32_740, 32_760]) {
        const before = `password="${'p'.repeat(at)}" `;
        expect(errorText(before + place)).not.toContain('abab');
      }
    }
  });

  test('takes no longer than its first part, however long it is', () => {
    for (const part of ['://', '://a:', 'password', 'Bearer ', ' ', 'eyJ.']) {
      const started = performance.now();
      errorText(part.repeat(2 ** 20));
      // It was 20 s for a third of this.
      expect(performance.now() - started).toBeLessThan(2_000);
    }
  });

  test('fits and is storable, whatever was thrown', () => {
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

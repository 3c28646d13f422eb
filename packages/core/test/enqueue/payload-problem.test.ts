import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPlainData } from '../../src/enqueue/entry-validation.js';
import { payloadProblem, stringProblem } from '../../src/enqueue/payload-problem.js';

function nested(depth: number): unknown {
  let value: unknown = 'leaf';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { inner: value };
  return value;
}

const cyclic: { list: unknown[] } = { list: [] };
cyclic.list.push(cyclic);

describe('a payload is storable when it', () => {
  test.each<[string, unknown]>([
    ['is null', null],
    ['is a string', 'text'],
    ['is an empty string', ''],
    ['is a number', -0.5],
    ['is a boolean', false],
    ['is an object', { id: 1, lines: [{ sku: 'a' }], empty: {} }],
    ['has an undefined property', { id: 1, note: undefined, inner: { note: undefined } }],
    ['holds a Date', { at: new Date(0) }],
    ['is a Date', new Date(0)],
    ['holds a Buffer, which knows its JSON', Buffer.from('x')],
    [
      'holds an Error that knows its JSON',
      Object.assign(new Error('x'), { toJSON: () => ({ message: 'x' }) }),
    ],
    ['has a property called toJSON that is no function', { toJSON: 'text' }],
    [
      'is an instance of a class',
      new (class Paid {
        readonly id = 1;
      })(),
    ],
    ['is an instance of a class without fields', new (class Cleared {})()],
    ['has a tag and fields', { id: 1, [Symbol.toStringTag]: 'Order' }],
    ['is a URL, which knows its JSON', new URL('https://example.com/')],
    ['has no prototype', Object.assign(Object.create(null), { id: 1 })],
    ['holds whole surrogate pairs', '😀'],
    ['repeats an object without a circle', [cyclic.list.length, ...Array(3).fill({ same: true })]],
    ['is nested 1000 levels deep', nested(1_000)],
  ])('%s', (_name, payload) => {
    expect(payloadProblem(payload)).toBeUndefined();
  });
});

describe('a payload is refused, with the path, when it', () => {
  test.each<[string, unknown, string]>([
    ['is undefined', undefined, "payload is undefined, which JSON can't hold"],
    ['is a function', () => {}, "payload is a function, which JSON can't hold"],
    ['is a symbol', Symbol('s'), "payload is a symbol, which JSON can't hold"],
    ['is a BigInt', 5n, "payload is a bigint, which JSON can't hold"],
    ['holds a BigInt', { lines: [{ amount: 5n }] }, 'payload.lines[0].amount is a bigint'],
    ['holds a function', { run: () => {} }, 'payload.run is a function'],
    ['holds undefined in a list', [1, undefined], 'payload[1] is undefined'],
    ['holds a hole in a list', Array(2), 'payload[0] is undefined'],
    ['is NaN', Number.NaN, 'payload is NaN, which JSON would store as null'],
    [
      'holds Infinity',
      { a: Number.NEGATIVE_INFINITY },
      'payload.a is -Infinity, which JSON would store as null',
    ],
    ['holds a NUL', { a: ['x\u0000'] }, 'payload.a[0] contains a NUL character'],
    ['holds a lone surrogate', { a: '\ud83d' }, 'payload.a contains half a surrogate pair'],
    ['has a NUL in a name', { 'a\u0000': 1 }, 'a property name of the payload contains a NUL character'],
    [
      'has half a pair in a name',
      { '\udc00': 1 },
      'a property name of the payload contains half a surrogate',
    ],
    ['is a Map', new Map(), 'payload is a Map, which JSON would store as {}'],
    ['holds a Set', { tags: new Set(['a']) }, 'payload.tags is a Set'],
    ['holds a Promise', { total: Promise.resolve(1) }, 'payload.total is a Promise (is an await missing?)'],
    ['holds an Error', { error: new TypeError('x') }, 'payload.error is an Error'],
    ['holds a WeakMap', { a: new WeakMap() }, 'payload.a is a WeakMap, which JSON would store as {}'],
    ['holds a WeakSet', { a: new WeakSet() }, 'payload.a is a WeakSet'],
    ['holds a WeakRef', { a: new WeakRef({}) }, 'payload.a is a WeakRef'],
    ['is an ArrayBuffer', new ArrayBuffer(2), 'payload is an ArrayBuffer, which JSON would store as {}'],
    ['holds a SharedArrayBuffer', [new SharedArrayBuffer(2)], 'payload[0] is a SharedArrayBuffer'],
    ['holds a DataView', [new DataView(new ArrayBuffer(2))], 'payload[0] is a DataView'],
    ['holds a RegExp', { a: /x/ }, 'payload.a is a RegExp, which JSON would store as {}'],
    ['holds a boxed number', { a: Object(Number.NaN) }, 'payload.a is a boxed Number; use the plain value'],
    ['holds a boxed string', { a: Object('x\u0000') }, 'payload.a is a boxed String'],
    ['holds a boxed boolean', { a: Object(false) }, 'payload.a is a boxed Boolean'],
    ['holds a boxed BigInt', { a: Object(5n) }, 'payload.a is a boxed BigInt'],
    ['holds URLSearchParams', { a: new URLSearchParams('b=1') }, 'payload.a is a URLSearchParams'],
    ['holds Headers', { a: new Headers() }, 'payload.a is a Headers'],
    ['holds a Blob', { a: new Blob(['x']) }, 'payload.a is a Blob'],
    ['holds an iterator', { a: [1].values() }, 'payload.a is an Array Iterator'],
    ['holds a Map behind a Proxy', { a: new Proxy(new Map(), {}) }, 'payload.a is a Map'],
    [
      'holds an Error with fields',
      { a: Object.assign(new Error('x'), { code: 7 }) },
      'payload.a is an Error',
    ],
    [
      'holds a typed array',
      { a: new Uint8Array(2) },
      'payload.a is a Uint8Array, which JSON would store as an object; use a list or Base64 text',
    ],
    ['holds an invalid Date', { at: new Date(Number.NaN) }, 'payload.at is an invalid Date'],
    ['has a toJSON that gives undefined', { a: { toJSON: () => undefined } }, 'payload.a is undefined'],
    ['has a toJSON that gives a Map', { a: { toJSON: () => ({ b: new Map() }) } }, 'payload.a.b is a Map'],
    ['refers to itself', cyclic, 'refers to itself or is nested deeper than 1000 levels'],
    ['is nested 1001 levels deep', nested(1_001), 'nested deeper than 1000 levels'],
  ])('%s', (_name, payload, problem) => {
    expect(payloadProblem(payload)).toContain(problem);
  });

  test('a problem deep inside keeps the message short', () => {
    expect(payloadProblem(cyclic)?.length).toBeLessThan(200);
  });
});

test('toJSON is called once, as by JSON.stringify', () => {
  class Money {
    readonly amount = 5;
    toJSON(): unknown {
      return this;
    }
  }
  expect(JSON.stringify(new Money())).toBe('{"amount":5}');
  expect(payloadProblem(new Money())).toBeUndefined();
});

test('an error of toJSON passes through', () => {
  const broken = {
    toJSON: () => {
      throw new Error('no JSON');
    },
  };
  expect(() => payloadProblem({ broken })).toThrow('no JSON');
});

test('stringProblem names the path', () => {
  expect(stringProblem('fine', 'topic')).toBeUndefined();
  expect(stringProblem('\u0000', 'topic')).toBe('topic contains a NUL character, which databases refuse');
  expect(stringProblem('\udc00', 'topic')).toBe(
    'topic contains half a surrogate pair, which is not valid Unicode',
  );
});

test('every JSON value without NUL and lone surrogates is storable', () => {
  // JSON.stringify escapes both of them, and nothing that is storable, as \u….
  const storable = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('\\u'));
  fc.assert(
    fc.property(storable, (value) => {
      expect(payloadProblem(value)).toBeUndefined();
    }),
  );
});

test('a value that passes the check survives JSON', () => {
  fc.assert(
    fc.property(fc.anything({ withDate: false, withMap: true, withSet: true, withBigInt: true }), (value) => {
      if (payloadProblem(value) !== undefined) return;
      const text = JSON.stringify(value);
      expect(text).toBeTypeOf('string');
      expect(text).not.toContain('\\u0000');
      expect(JSON.stringify(JSON.parse(text))).toBe(text);
    }),
  );
});

test('the quick check never accepts what the full check rejects', () => {
  const odd = fc.constantFrom<unknown>(
    undefined,
    Number.NaN,
    1n,
    'a\u0000b',
    '\ud800',
    new Map(),
    new WeakSet(),
    new ArrayBuffer(1),
    new Uint8Array(1),
    /x/,
    Object(5),
    new Date(Number.NaN),
    () => 1,
  );
  const anything = fc.letrec((tie) => ({
    value: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      odd,
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(fc.string({ unit: 'binary' }), tie('value'), { maxKeys: 4 }),
  })).value;
  fc.assert(
    fc.property(anything, (value) => {
      if (isPlainData(value)) expect(payloadProblem(value)).toBeUndefined();
    }),
    { numRuns: 2_000 },
  );
});

test('the quick check accepts plain data', () => {
  expect(isPlainData({ a: [1, 'two', null, { b: true, c: undefined }], d: {} })).toBe(true);
});

test.each([
  [[undefined]],
  [new Array(2)],
  [new Map()],
  [new Date()],
  [Number.NaN],
  ['\u0000'],
  [{ '\ud800': 1 }],
])('the quick check leaves %o to the full check', (value) => {
  expect(isPlainData(value)).toBe(false);
});

import { type Arena, LONG_CLAIM_MS } from '../arena.js';
import type { Order } from '../producer.js';
import type { Scenario } from '../scenario.js';

const group = 'the data';
const SOON = { type: 'fixed', delayMs: 20 } as const;
const BIG = {
  batches: true,
  claimTimeoutMs: LONG_CLAIM_MS,
  settings: { batchSize: 500, pollIntervalMs: 50 },
} as const;

/** Within the limit of 1 MiB, counted as JSON: the order's own name needs some of it. */
const MEGABYTE = 1_048_576 - 100;
/** The deepest that is let in is a thousand; the payload around it is one level more. */
const DEPTH = 999;
const LAST_CODE_POINT = 0x10_ffff;
const CODE_POINTS_EACH = 100_000;

/** Every character that is one, but NUL, which PostgreSQL can't hold. */
function allOfUnicode(): string[] {
  const texts: string[] = [];
  for (let from = 1; from <= LAST_CODE_POINT; from += CODE_POINTS_EACH) {
    let text = '';
    for (let point = from; point < from + CODE_POINTS_EACH && point <= LAST_CODE_POINT; point++) {
      const isSurrogate = point >= 0xd800 && point <= 0xdfff;
      if (!isSurrogate) text += String.fromCodePoint(point);
    }
    texts.push(text);
  }
  return texts;
}

function nested(depth: number): unknown {
  let value: unknown = 'bottom';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { deeper: value };
  return value;
}

/** What JSON can't hold as it is (NaN, Infinity) is refused; these come back as they are, but for the sign of -0. */
const NUMBERS = [-0, 5e-324, 1.7976931348623157e308, 2 ** 53, 2 ** 53 + 2, 1e21, 1e-7, 0.1 + 0.2, -1.5e300];

const payloads: Scenario = {
  group,
  name: 'extreme payloads: 1 MB, deep, all of Unicode, numbers',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const bodies = [
      'x'.repeat(MEGABYTE),
      nested(DEPTH),
      NUMBERS,
      ...allOfUnicode(),
      { '': '', 'a.b': null, __proto__: 1, constructor: 'x', '\u{1f600}\u0001': '\u2028\u2029' },
      JSON.parse('{"__proto__": {"polluted": true}}'),
      [],
      '',
    ];
    await arena.start({ claimTimeoutMs: LONG_CLAIM_MS });
    for (const [place, body] of bodies.entries())
      await arena.produceAtOnce([{ id: `body-${place}`, key: 'k0', body }]);
    await expectRefused(arena, 'a NUL character', 'a\0b');
    await expectRefused(arena, 'half a character', '\ud800');
    await expectRefused(arena, 'not a number', [Number.NaN]);
    await expectRefused(arena, 'infinity', Number.NEGATIVE_INFINITY);
    await expectRefused(arena, 'too deep', nested(DEPTH + 1));
    await expectRefused(arena, 'more than 1 MiB', 'x'.repeat(MEGABYTE + 200));
    await arena.drained();
  },
};

/** Refused before anything is sent: the transaction is rolled back by its owner, and nothing is ever published. */
async function expectRefused(arena: Arena, what: string, body: unknown): Promise<void> {
  const result = await arena.producer().produce({ id: what, body });
  arena.expect(result === 'rolled back', `${what} was not refused: ${result}`);
}

const poisonedHeads: Scenario = {
  group,
  name: '10,000 keys with a poisoned head each',
  rules: { deadReasons: ['exhausted'], maxAttempts: 2, duplicates: 'none' },
  run: async (arena) => {
    const keys = arena.isShort ? 1_000 : 10_000;
    const orders = Array.from({ length: keys }, (_, place): Order[] => [
      { id: `head-${place}`, key: `k${place}`, fails: 'always' },
      { id: `follower-${place}`, key: `k${place}` },
    ]);
    await inChunks(arena, orders.flat());
    await arena.start({ ...BIG, settings: { ...BIG.settings, maxAttempts: 2, backoff: SOON } });
    await arena.drained();
    const [dead] = await arena.query<{ heads: number }>(
      'select count(*)::int as heads from outbox where dead_at is not null',
    );
    arena.expect(dead?.heads === keys, `I2: ${dead?.heads} of ${keys} heads are dead`);
  },
};

const manyFollowers: Scenario = {
  group,
  name: 'a key with 10,000 followers, whose head fails',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const followers = arena.isShort ? 2_000 : 10_000;
    // A transaction each for the first ones, so that their order is decided; the rest in chunks behind them.
    await arena.produceAtOnce([{ id: 'head', key: 'k', fails: 3 }]);
    await arena.produce(50, ['k']);
    await inChunks(
      arena,
      Array.from({ length: followers }, (_, place) => ({ id: `follower-${place}`, key: 'k' })),
    );
    await arena.start({ ...BIG, settings: { ...BIG.settings, backoff: SOON } });
    await arena.produce(10, [undefined], 'beside');
    await arena.drained();
  },
};

async function inChunks(arena: Arena, orders: readonly Order[]): Promise<void> {
  for (let from = 0; from < orders.length; from += 1_000)
    await arena.produceAtOnce(orders.slice(from, from + 1_000));
}

/** It has the lowest place of all, and is seen last. */
const commitsLast: Scenario = {
  group,
  name: 'a long transaction that inserted first and commits last',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const slow = arena.launch({ role: 'producer', stopAt: 'before the business COMMIT' });
    slow.send({ do: 'produce', count: 2, keys: ['k0', undefined] });
    await slow.stopsAtPoint();
    await arena.start({ claimTimeoutMs: LONG_CLAIM_MS });
    await arena.produce(arena.isShort ? 100 : 2_000, ['k0', undefined, 'k1', undefined]);
    await arena.until('all others were published', async () => (await arena.pending()) === 0);
    await slow.order({ do: 'go on' });
    arena.calm();
    await arena.until(
      'it committed',
      async () => (await arena.query(`select id from orders where id like '${slow.name}-%'`)).length === 2,
    );
    await arena.drained();
  },
};

/** Vacuum can't take anything away while it is open, so dead versions pile up in front of the claims. */
const heldOpen: Scenario = {
  group,
  name: 'a transaction held open for the whole run',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const holder = await arena.session();
    await holder.query('begin isolation level repeatable read');
    await holder.query('select pg_current_xact_id()');
    await arena.start(BIG);
    const rounds = arena.isShort ? 3 : 20;
    for (let round = 0; round < rounds; round++) {
      await inChunks(
        arena,
        Array.from({ length: 1_000 }, (_, place) => ({
          id: `order-${round}-${place}`,
          key: place % 2 === 0 ? `k${place}` : undefined,
        })),
      );
      await arena.drained();
    }
    await holder.query('rollback');
  },
};

export const dataScenarios: readonly Scenario[] = [
  payloads,
  poisonedHeads,
  manyFollowers,
  commitsLast,
  heldOpen,
];

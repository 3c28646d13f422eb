import { seededRandom } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { PublishResult } from '../../src/publish/outbox-publisher.js';
import { publishInWaves, type WaveOptions } from '../../src/publish/publish-in-waves.js';

const FULFILLED: PublishResult = { status: 'fulfilled' };
const signal = new AbortController().signal;

function row(id: string, key?: string): OutboxRow {
  const createdAt = new Date(0);
  return {
    id,
    topic: 'order.paid',
    payload: null,
    headers: {},
    createdAt,
    availableAt: createdAt,
    attempts: 0,
    retakes: 0,
    retry: {},
    ...(key !== undefined && { key }),
  };
}

/** Rows by name: `a1` has the key `a`, `-1` has none. */
function rowsOf(names: string): OutboxRow[] {
  return names.split(' ').map((name) => row(name, name.startsWith('-') ? undefined : name[0]));
}

function refusedWith(reason: unknown): PublishResult {
  return { status: 'rejected', reason };
}

/** A broker that refuses some rows and remembers the waves. */
class Broker {
  readonly waves: string[] = [];
  readonly confirmed: string[] = [];
  readonly #refused: ReadonlySet<string>;
  #isBusy = false;

  constructor(refused: Iterable<string> = []) {
    this.#refused = new Set(refused);
  }

  readonly send = async (wave: readonly OutboxRow[]): Promise<PublishResult[]> => {
    expect(this.#isBusy, 'a wave goes out while another is not confirmed').toBe(false);
    this.#isBusy = true;
    this.waves.push(wave.map(({ id }) => id).join(' '));
    await Promise.resolve();
    this.#isBusy = false;
    return wave.map(({ id }) => {
      if (this.#refused.has(id)) return refusedWith(`${id} refused`);
      this.confirmed.push(id);
      return FULFILLED;
    });
  };
}

/** `ok`, or the reason, of each row. */
function told(results: readonly PublishResult[]): unknown[] {
  return results.map((result) => (result.status === 'fulfilled' ? 'ok' : result.reason));
}

describe('publishInWaves', () => {
  test('a wave has the first unsent row of each key and every row without a key', async () => {
    const broker = new Broker();
    const rows = rowsOf('a1 -1 a2 b1 -2 a3 b2');
    expect(await publishInWaves(rows, broker.send, { signal })).toEqual(rows.map(() => FULFILLED));
    expect(broker.waves).toEqual(['a1 -1 b1 -2', 'a2 b2', 'a3']);
  });

  test('rows behind a refused one are not sent and get its result, other rows go on', async () => {
    const broker = new Broker(['a2', '-1']);
    const results = await publishInWaves(rowsOf('a1 a2 b1 a3 -1 b2 a4 -2'), broker.send, { signal });
    expect(told(results)).toEqual([
      'ok',
      'a2 refused',
      'ok',
      'a2 refused',
      '-1 refused',
      'ok',
      'a2 refused',
      'ok',
    ]);
    expect(broker.waves).toEqual(['a1 b1 -1 -2', 'a2 b2']);
  });

  test('an empty batch sends nothing', async () => {
    const broker = new Broker();
    expect(await publishInWaves([], broker.send, { signal })).toEqual([]);
    expect(broker.waves).toEqual([]);
  });

  test('a wave has at most maxRows rows', async () => {
    const broker = new Broker();
    await publishInWaves(rowsOf('a1 a2 -1 b1 -2 -3'), broker.send, { signal, maxRows: 2 });
    expect(broker.waves).toEqual(['a1 -1', 'a2 b1', '-2 -3']);
  });

  test('a limit below one row sends one row at a time', async () => {
    const broker = new Broker();
    await publishInWaves(rowsOf('-1 -2'), broker.send, { signal, maxRows: 0 });
    expect(broker.waves).toEqual(['-1', '-2']);
  });

  test('a wave has at most maxBytes bytes, and a larger row goes alone', async () => {
    const broker = new Broker();
    const bytes: Record<string, number> = { '-1': 4, '-2': 6, '-3': 1, '-4': 50, '-5': 1 };
    const options = { signal, maxBytes: 10, bytesOf: ({ id }: OutboxRow) => bytes[id] ?? 0 };
    await publishInWaves(rowsOf('-1 -2 -3 -4 -5'), broker.send, options);
    expect(broker.waves).toEqual(['-1 -2', '-3', '-4', '-5']);
  });

  test('an aborted signal ends the waves: what was confirmed stays confirmed, the rest has its reason', async () => {
    const abort = new AbortController();
    const broker = new Broker();
    const results = await publishInWaves(
      rowsOf('a1 -1 a2 a3'),
      (wave) => {
        abort.abort('given up');
        return broker.send(wave);
      },
      { signal: abort.signal },
    );
    expect(told(results)).toEqual(['ok', 'ok', 'given up', 'given up']);
    expect(broker.waves).toEqual(['a1 -1']);
  });

  test('a signal that has aborted already sends nothing', async () => {
    const broker = new Broker();
    const results = await publishInWaves(rowsOf('a1 -1'), broker.send, {
      signal: AbortSignal.abort('given up'),
    });
    expect(told(results)).toEqual(['given up', 'given up']);
    expect(broker.waves).toEqual([]);
  });

  test('a wave that throws ends the waves: rows without a result have its error', async () => {
    const broker = new Broker();
    const results = await publishInWaves(
      rowsOf('a1 -1 a2 b1 a3'),
      async (wave) => {
        if (broker.waves.length === 1) throw new Error('cut');
        return broker.send(wave);
      },
      { signal },
    );
    expect(told(results)).toEqual(['ok', 'ok', new Error('cut'), 'ok', new Error('cut')]);
    expect(broker.waves).toEqual(['a1 -1 b1']);
  });

  test('a wave that throws synchronously rejects its rows', async () => {
    const results = await publishInWaves(
      rowsOf('a1'),
      () => {
        throw new Error('not connected');
      },
      { signal },
    );
    expect(told(results)).toEqual([new Error('not connected')]);
  });

  test('a row without a result is not delivered, and those behind it are not sent', async () => {
    const sent: string[] = [];
    const results = await publishInWaves(
      rowsOf('-1 a1 a2'),
      async (wave) => {
        sent.push(...wave.map(({ id }) => id));
        return [FULFILLED];
      },
      { signal },
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(told(results)[1]).toMatchObject({ message: expect.stringContaining('no result') });
    expect(sent).toEqual(['-1', 'a1']);
  });

  test('results beyond the rows of a wave are ignored', async () => {
    const results = await publishInWaves(rowsOf('a1'), async () => [FULFILLED, refusedWith('?')], { signal });
    expect(told(results)).toEqual(['ok']);
  });

  test('the same row twice has two results', async () => {
    const [one] = rowsOf('a1');
    if (!one) throw new Error('there is one row');
    expect(await publishInWaves([one, one], new Broker().send, { signal })).toEqual([FULFILLED, FULFILLED]);
  });
});

test('publishInWaves keeps order, limits and results, whatever the rows and failures', async () => {
  for (let seed = 1; seed <= 300; seed++) {
    await publishWorld(worldOf(seed)).catch((cause: unknown) => {
      throw new Error(`seed ${seed}`, { cause });
    });
  }
});

async function publishWorld({ rows, refused, throwsAt, options }: World): Promise<void> {
  const broker = new Broker(refused);
  const results = await publishInWaves(
    rows,
    async (wave) => {
      if (broker.waves.length === throwsAt) throw new Error('cut');
      return broker.send(wave);
    },
    options,
  );

  expect(results).toHaveLength(rows.length);
  const fulfilled = rows.filter((_, index) => results[index]?.status === 'fulfilled');
  const ids = fulfilled.map(({ id }) => id);
  expect([...broker.confirmed].sort(), 'fulfilled if, and only if, confirmed').toEqual([...ids].sort());
  expectOrderPerKey(rows, broker);
  expectLimits(rows, broker, options);
  // Without a cut, a row fails only by itself or behind one of its key.
  if (throwsAt === undefined) expect(ids).toEqual(expectedIds(rows, refused));
}

interface World {
  readonly rows: readonly OutboxRow[];
  readonly refused: ReadonlySet<string>;
  readonly throwsAt: number | undefined;
  readonly options: WaveOptions;
}

function worldOf(seed: number): World {
  const random = seededRandom(Math.imul(seed, 0x9e3779b9));
  const whole = (below: number): number => Math.floor(random() * below);
  const keys = 1 + whole(5);
  const rows = Array.from({ length: whole(40) }, (_, index) => {
    const key = whole(keys + 1);
    return row(`r${index}`, key === 0 ? undefined : `k${key}`);
  });
  const refused = new Set(rows.filter(() => random() < 0.15).map(({ id }) => id));
  return {
    rows,
    refused,
    throwsAt: random() < 0.3 ? whole(6) : undefined,
    options: {
      signal,
      ...(random() < 0.5 && { maxRows: 1 + whole(8) }),
      ...(random() < 0.5 && { maxBytes: 1 + whole(60), bytesOf }),
    },
  };
}

function bytesOf({ id }: OutboxRow): number {
  return 1 + ((id.length * 7 + id.charCodeAt(id.length - 1)) % 20);
}

/** The rows that have no refused row of their key before them, and are not refused themselves. */
function expectedIds(rows: readonly OutboxRow[], refused: ReadonlySet<string>): string[] {
  const blocked = new Set<string>();
  return rows
    .filter(({ id, key }) => {
      if (key !== undefined && blocked.has(key)) return false;
      if (refused.has(id) && key !== undefined) blocked.add(key);
      return !refused.has(id);
    })
    .map(({ id }) => id);
}

function expectOrderPerKey(rows: readonly OutboxRow[], { waves }: Broker): void {
  const place = new Map(rows.map(({ id }, index) => [id, index]));
  const keyOf = new Map(rows.map(({ id, key }) => [id, key]));
  const lastOfKey = new Map<string, number>();
  for (const wave of waves) {
    const keys = wave.split(' ').flatMap((id) => keyOf.get(id) ?? []);
    expect(new Set(keys).size, 'one row of each key in a wave').toBe(keys.length);
  }
  const sent = waves.flatMap((wave) => wave.split(' '));
  expect(new Set(sent).size, 'no row is sent twice').toBe(sent.length);
  for (const id of sent) {
    const key = keyOf.get(id);
    if (key === undefined) continue;
    const index = place.get(id) ?? -1;
    expect(index, `row ${id} of key ${key}`).toBeGreaterThan(lastOfKey.get(key) ?? -1);
    lastOfKey.set(key, index);
  }
}

function expectLimits(rows: readonly OutboxRow[], { waves }: Broker, options: WaveOptions): void {
  const { maxRows = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = options;
  const bytes = new Map(rows.map((one) => [one.id, bytesOf(one)]));
  for (const wave of waves) {
    const ids = wave.split(' ');
    expect(ids.length).toBeLessThanOrEqual(maxRows);
    const size = ids.reduce((sum, id) => sum + (bytes.get(id) ?? 0), 0);
    if (ids.length > 1) expect(size).toBeLessThanOrEqual(maxBytes);
  }
}

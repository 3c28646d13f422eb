import { beforeEach, describe, expect, it } from 'vitest';
import { PgOutboxStore } from '../../store-pg/src/pg-outbox-store.js';
import { inPublishOrder, toOutboxRow } from '../src/row-mapping.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres();

beforeEach(() => fixture.query('truncate outbox restart identity'));

const RECORD = {
  id: 'm1',
  topic: 't',
  payload: '{"a":1}',
  key: null,
  headers: null,
  created_at: 1_000,
  available_at: 2_000,
  dispatched_at: null,
  dead_at: null,
  dead_reason: null,
  attempts: 0,
  retakes: 0,
  last_error: null,
  claim_token: null,
  max_attempts: null,
  backoff: null,
  seq: 1,
};

describe('toOutboxRow', () => {
  it('omits null values', () => {
    expect(toOutboxRow(RECORD)).toEqual({
      id: 'm1',
      topic: 't',
      payload: { a: 1 },
      headers: {},
      createdAt: new Date(1_000),
      availableAt: new Date(2_000),
      attempts: 0,
      retakes: 0,
      retry: {},
    });
  });

  it('fills in what a claim omits: no attempts, no retakes, due when created', () => {
    const row = toOutboxRow({ ...RECORD, attempts: null, retakes: null, available_at: null });
    expect(row).toMatchObject({ attempts: 0, retakes: 0, availableAt: new Date(1_000) });
  });

  it('keeps other values', () => {
    const backoff = { type: 'fixed', delayMs: 5 };
    const row = toOutboxRow({
      ...RECORD,
      key: 'k',
      headers: '{"h":"1"}',
      dispatched_at: 3_000,
      dead_at: 4_000,
      dead_reason: 'crashed',
      attempts: 2,
      retakes: 1,
      last_error: 'x',
      claim_token: 'c',
      max_attempts: 7,
      backoff: JSON.stringify(backoff),
    });
    expect(row).toMatchObject({
      key: 'k',
      headers: { h: '1' },
      dispatchedAt: new Date(3_000),
      deadAt: new Date(4_000),
      deadReason: 'crashed',
      attempts: 2,
      retakes: 1,
      lastError: 'x',
      claimToken: 'c',
      retry: { maxAttempts: 7, backoff },
    });
    expect(row).not.toHaveProperty('undecodable');
  });
});

describe('inPublishOrder', () => {
  const record = (id: string, available_at: number, seq: number, key: string | null = null) => ({
    ...RECORD,
    id,
    available_at,
    seq,
    key,
  });
  const order = (...records: ReturnType<typeof record>[]) => inPublishOrder(records).map(({ id }) => id);

  it('is by due time, then by seq as a number', () => {
    expect(order(record('c', 1, 10), record('b', 1, 9), record('a', 0, 11))).toEqual(['a', 'b', 'c']);
  });

  it('uses the creation time if there is no other, and compares seq as a number even if it is text', () => {
    const untold = (id: string, created_at: number, seq: string) => ({
      ...record(id, 0, 0),
      available_at: null,
      created_at,
      seq,
    });
    const records = [untold('b', 1, '10'), untold('a', 1, '9'), untold('c', 2, '1')];
    expect(inPublishOrder(records).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('keeps the rows of a key in the order of seq, within the places of the key', () => {
    const rows = [
      record('k1', 50, 1, 'k'),
      record('k2', 10, 2, 'k'),
      record('free', 20, 3),
      record('l1', 5, 4, 'l'),
      record('k3', 60, 5, 'k'),
    ];
    expect(order(...rows)).toEqual(['l1', 'k1', 'free', 'k2', 'k3']);
    expect(order(...rows.reverse())).toEqual(['l1', 'k1', 'free', 'k2', 'k3']);
  });

  it('returns every record once', () => {
    const rows = Array.from({ length: 200 }, (_, index) =>
      record(`r${index}`, (index * 7) % 13, index, index % 3 === 0 ? null : `k${index % 5}`),
    );
    expect(new Set(order(...rows)).size).toBe(200);
  });
});

describe('rows edited into invalid values', () => {
  const NONSENSE: Record<string, string> = {
    'headers a list': `headers = '[1]'`,
    'headers a string': `headers = '"x"'`,
    'headers with a number': `headers = '{"h": 1}'`,
    'headers JSON null': `headers = 'null'`,
    'backoff a string': `backoff = '"x"'`,
    'backoff of an unknown type': `backoff = '{"type": "cubic", "delayMs": 1}'`,
    'backoff without a delay': `backoff = '{"type": "fixed"}'`,
    'backoff without a type': `backoff = '{}'`,
  };

  it.each(Object.entries(NONSENSE))(
    '%s: claimed as undecodable, without affecting other rows',
    async (name, change) => {
      const store = new PgOutboxStore(fixture.pool);
      await store.enqueue(['m1', 'bad', 'm2'].map((id) => ({ id, topic: 't', payload: { id } })));
      await fixture.query(`update outbox set ${change} where id = 'bad'`);
      const rows = await store.fetchPending(10);
      expect(rows.map(({ id }) => id)).toEqual(['m1', 'bad', 'm2']);
      const [first, bad, last] = rows;
      expect(bad?.undecodable).toContain(`column ${name.split(' ')[0]}`);
      expect(first).not.toHaveProperty('undecodable');
      expect(last).toMatchObject({ payload: { id: 'm2' } });
    },
  );

  it('a null payload is just null', async () => {
    const store = new PgOutboxStore(fixture.pool);
    await store.enqueue({ id: 'm1', topic: 't', payload: 1 });
    await fixture.query('update outbox set payload = null');
    const [row] = await store.fetchPending(10);
    expect(row).toMatchObject({ id: 'm1', payload: null });
    expect(row).not.toHaveProperty('undecodable');
  });

  it('a JSON null payload is null, too', async () => {
    const store = new PgOutboxStore(fixture.pool);
    await store.enqueue({ id: 'm1', topic: 't', payload: null });
    const [row] = await store.fetchPending(10);
    expect(row).toMatchObject({ payload: null });
  });
});

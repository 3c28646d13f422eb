import { describe, expect, test } from 'vitest';
import { type EnqueueOptions, EnqueuePipeline } from '../../src/enqueue/enqueue-pipeline.js';
import type { NewRow } from '../../src/enqueue/new-row.js';
import type { OutboxEntry } from '../../src/message/outbox-row.js';
import type { StandardResult, StandardSchema } from '../../src/message/standard-schema.js';
import type { OutboxInterceptor } from '../../src/observe/interceptors.js';
import { openOutbox, refusal } from '../outbox-fixture.js';

const paid: OutboxEntry = { topic: 'order.paid', payload: { id: 1 } };

interface Recorded {
  readonly pipeline: EnqueuePipeline;
  /** One element for each call of insert. */
  readonly inserted: NewRow[][];
  run(entries: OutboxEntry | readonly OutboxEntry[]): Promise<string[]>;
}

function recorded(options: EnqueueOptions = {}): Recorded {
  let last = 0;
  const generateId = (): string => {
    last += 1;
    return `id-${last}`;
  };
  const pipeline = new EnqueuePipeline({ generateId, ...options });
  const inserted: NewRow[][] = [];
  return {
    pipeline,
    inserted,
    run: (entries) =>
      pipeline.run(entries, async (rows) => {
        inserted.push([...rows]);
      }),
  };
}

function schemaOf(validate: (value: unknown) => StandardResult | Promise<StandardResult>): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

const needsId = (value: unknown): StandardResult =>
  typeof value === 'object' && value !== null && 'id' in value
    ? { value }
    : { issues: [{ message: 'is required', path: ['id'] }] };

describe('EnqueuePipeline', () => {
  test('returns the ids in the order of the entries', async () => {
    const { run, inserted } = recorded();
    expect(await run([paid, { ...paid, id: 'mine' }, paid])).toEqual(['id-1', 'mine', 'id-2']);
    expect(inserted).toEqual([
      ['id-1', 'mine', 'id-2'].map((id) => ({ id, topic: 'order.paid', payload: '{"id":1}' })),
    ]);
  });

  test('accepts a single entry too', async () => {
    expect(await recorded().run(paid)).toEqual(['id-1']);
  });

  test('generates UUIDv7 ids by default', async () => {
    const [id] = await new EnqueuePipeline().run(paid, async () => {});
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  test('inserts nothing for an empty list', async () => {
    const { run, inserted } = recorded({
      interceptors: [{ enqueue: () => Promise.reject(new Error('must not be asked')) }],
    });
    expect(await run([])).toEqual([]);
    expect(inserted).toEqual([]);
  });

  test('inserts nothing if one of many entries is invalid, and names its index', async () => {
    const { run, inserted } = recorded();
    await expect(run([paid, { ...paid, topic: '' }])).rejects.toThrow(
      refusal('INVALID_ENTRY', 'entry 1: topic is empty'),
    );
    await expect(run([paid, null as never])).rejects.toThrow(refusal('INVALID_ENTRY', 'entry 1: must be an'));
    await expect(run('text' as never)).rejects.toThrow(
      refusal('INVALID_ENTRY', 'entry 0: must be an object'),
    );
    expect(inserted).toEqual([]);
  });

  test('rejects an id that is twice in the list, and names both positions', async () => {
    const { run, inserted } = recorded();
    const entries = ['a', 'b', 'a'].map((id) => ({ ...paid, id }));
    await expect(run(entries)).rejects.toThrow(
      refusal('DUPLICATE_ID', "entry 2: id 'a' is already used by entry 0 of this list"),
    );
    expect(inserted).toEqual([]);
  });

  test('payloads too large for one statement together are rejected, with what to do', async () => {
    const { run, inserted } = recorded();
    const largest = { topic: 't', payload: 'x'.repeat(1_048_574) };
    const list = Array.from({ length: 129 }, () => largest);
    await expect(run(list)).rejects.toThrow(
      refusal('PAYLOAD_TOO_LARGE', 'entry 128: with this entry, the payloads of this call exceed 128 MiB'),
    );
    expect(inserted).toEqual([]);
  });

  test('refuses a payload above the configured size', async () => {
    const { run, inserted } = recorded({ maxPayloadBytes: 8 });
    await expect(run([paid, { ...paid, payload: { id: 10 } }])).rejects.toThrow(
      refusal('PAYLOAD_TOO_LARGE', 'entry 1: payload has 9 bytes'),
    );
    expect(inserted).toEqual([]);
  });

  test('an error of the insert reaches the caller unchanged', async () => {
    const error = new Error('connection lost');
    await expect(new EnqueuePipeline().run(paid, () => Promise.reject(error))).rejects.toBe(error);
  });

  test('a payload that changes during an asynchronous schema check is stored as it was passed', async () => {
    const payload = { id: 1 };
    const changing = schemaOf(async (value) => {
      payload.id = 2;
      return { value };
    });
    const { run, inserted } = recorded({ topics: { 'order.paid': changing } });
    await run({ topic: 'order.paid', payload });
    expect(inserted[0]?.[0]?.payload).toBe('{"id":1}');
  });
});

describe('schemas at enqueue', () => {
  test.each<[string, StandardSchema]>([
    ['synchronous', schemaOf(needsId)],
    ['asynchronous', schemaOf(async (value) => needsId(value))],
  ])('a %s schema rejects with index, topic and path', async (_name, schema) => {
    const { run, inserted } = recorded({ topics: { 'order.paid': schema } });
    await expect(run([paid, { topic: 'order.paid', payload: {} }])).rejects.toThrow(
      refusal('SCHEMA_MISMATCH', "entry 1: payload of topic 'order.paid': id: is required"),
    );
    expect(inserted).toEqual([]);
    expect(await run(paid)).toHaveLength(1);
  });

  test('topics without a schema are not checked', async () => {
    const { run } = recorded({ topics: { 'order.paid': schemaOf(needsId) } });
    expect(await run({ topic: 'order.placed', payload: {} })).toHaveLength(1);
    expect(await run({ topic: 'toString', payload: {} })).toHaveLength(1);
  });

  test('a schema is a check, not a transformation', async () => {
    const { run, inserted } = recorded({ topics: { 'order.paid': schemaOf(() => ({ value: 'changed' })) } });
    await run(paid);
    expect(inserted[0]?.[0]?.payload).toBe('{"id":1}');
  });

  test('a schema sees what will be published, so accepted payloads are never undecodable later', async () => {
    const seen: unknown[] = [];
    const schema = schemaOf((value) => {
      seen.push(value);
      return { value };
    });
    const { run, pipeline } = recorded({ topics: { 'order.paid': schema } });
    await run({ topic: 'order.paid', payload: { at: new Date(0), note: undefined } });
    await pipeline.schemaProblem('order.paid', JSON.parse('{"at":"1970-01-01T00:00:00.000Z"}'));
    expect(seen[0]).toStrictEqual(seen[1]);
  });

  test('an error thrown by a schema reaches the caller, and nothing is inserted', async () => {
    const error = new Error('schema is broken');
    const { run, inserted } = recorded({ topics: { 'order.paid': schemaOf(() => Promise.reject(error)) } });
    await expect(run(paid)).rejects.toBe(error);
    expect(inserted).toEqual([]);
  });

  test.each([undefined, null, {}, { '~standard': {} }, () => true])('%s is not a schema', (schema) => {
    expect(() => new EnqueuePipeline({ topics: { 'order.paid': schema as never } })).toThrow(
      refusal('INVALID_CONFIG', "topics: the schema of 'order.paid' is not a Standard Schema"),
    );
  });
});

describe('interceptors at enqueue', () => {
  test('run in order, the first outermost, around checks and insert', async () => {
    const steps: string[] = [];
    const named = (name: string): OutboxInterceptor => ({
      enqueue: async (entries, next) => {
        steps.push(`${name} before`);
        const ids = await next(entries);
        steps.push(`${name} after ${ids.join()}`);
        return ids;
      },
    });
    const pipeline = new EnqueuePipeline({
      interceptors: [named('outer'), {}, named('inner')],
      generateId: () => 'id-1',
    });
    await pipeline.run(paid, async () => {
      steps.push('insert');
    });
    expect(steps).toEqual(['outer before', 'inner before', 'insert', 'inner after id-1', 'outer after id-1']);
  });

  test('are called with their own this', async () => {
    class Tenant {
      readonly #name = 'a';
      enqueue(
        entries: readonly OutboxEntry[],
        next: (entries: readonly OutboxEntry[]) => Promise<string[]>,
      ): Promise<string[]> {
        return next(entries.map((entry) => ({ ...entry, headers: { tenant: this.#name } })));
      }
    }
    const { run, inserted } = recorded({ interceptors: [new Tenant()] });
    await run(paid);
    expect(inserted[0]?.[0]?.headers).toEqual({ tenant: 'a' });
  });

  test('their changes are checked too', async () => {
    const { run, inserted } = recorded({
      interceptors: [{ enqueue: (entries, next) => next(entries.map((entry) => ({ ...entry, topic: '' }))) }],
    });
    await expect(run(paid)).rejects.toThrow(refusal('INVALID_ENTRY', 'entry 0: topic is empty'));
    expect(inserted).toEqual([]);
  });

  test('see the errors of inner interceptors', async () => {
    const seen: unknown[] = [];
    const { run } = recorded({
      interceptors: [
        {
          enqueue: async (entries, next) => {
            try {
              return await next(entries);
            } catch (error) {
              seen.push(error);
              throw error;
            }
          },
        },
      ],
    });
    await expect(run({ ...paid, topic: '' })).rejects.toThrow();
    expect(seen).toEqual([refusal('INVALID_ENTRY', 'topic is empty')]);
  });

  test('can reject the call, and nothing is inserted', async () => {
    const { run, inserted } = recorded({
      interceptors: [
        {
          enqueue: () => {
            throw new Error('not today');
          },
        },
      ],
    });
    await expect(run(paid)).rejects.toThrow('not today');
    expect(inserted).toEqual([]);
  });

  test('can drop every entry, and insert is not called', async () => {
    const { run, inserted } = recorded({ interceptors: [{ enqueue: (_entries, next) => next([]) }] });
    expect(await run(paid)).toEqual([]);
    expect(inserted).toEqual([]);
  });
});

test('a store runs its entries through the pipeline: a rejected call leaves the table unchanged', async () => {
  const { store } = openOutbox({
    pipeline: new EnqueuePipeline({ topics: { 'order.paid': schemaOf(needsId) } }),
  });
  await expect(store.enqueue([paid, { topic: 'order.paid', payload: 5 }])).rejects.toThrow(
    refusal('SCHEMA_MISMATCH', 'entry 1'),
  );
  await expect(
    store.transaction((tx) => store.enqueueWith(tx, { topic: 'order.paid', payload: 5 })),
  ).rejects.toThrow(refusal('SCHEMA_MISMATCH', 'entry 0'));
  expect(await store.count()).toMatchObject({ total: 0 });
});

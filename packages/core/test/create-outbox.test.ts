import { type MemoryTransaction, memoryStore } from '@postcommit/store-memory';
import { afterEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import { type CreateOutboxOptions, createOutbox, type Outbox } from '../src/create-outbox.js';
import type { OutboxRow } from '../src/message/outbox-row.js';
import type { StandardSchema } from '../src/message/standard-schema.js';
import type { OutboxLogger } from '../src/observe/outbox-logger.js';
import { OutboxSchema } from '../src/store/outbox-schema.js';
import { deferred, refusal } from './outbox-fixture.js';

const paid = { topic: 'order.paid', payload: { id: 1 } };

/** The handle of a transaction on the store of an outbox. */
async function inTransaction<Topics extends Record<string, StandardSchema>>(
  outbox: Outbox<MemoryTransaction, Topics>,
  work: (tx: MemoryTransaction) => Promise<void>,
): Promise<void> {
  const store = outbox.store as unknown as {
    transaction(run: (tx: MemoryTransaction) => Promise<void>): Promise<void>;
  };
  await store.transaction(work);
}

/** A schema for objects that have these fields, without a library. */
function schemaOf<Payload>(...fields: string[]): StandardSchema<Payload> {
  const validate = (value: unknown) => {
    const missing = fields.filter((field) => !Object.hasOwn(value as object, field));
    return missing.length === 0 ? { value } : { issues: [{ message: `missing ${missing.join(', ')}` }] };
  };
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

afterEach(() => vi.restoreAllMocks());

describe('createOutbox', () => {
  test('publishes what was committed and nothing that was rolled back', async () => {
    const topics: string[] = [];
    const outbox = createOutbox({
      store: memoryStore(),
      publisher: async ({ topic }) => void topics.push(topic),
    });
    await outbox.migrate();
    expect(await outbox.check()).toEqual([]);
    await inTransaction(outbox, async (tx) => void (await outbox.enqueueWith(tx, paid)));
    const rolledBack = inTransaction(outbox, async (tx) => {
      await outbox.enqueueWith(tx, { ...paid, topic: 'order.lost' });
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    expect(await outbox.dispatchPending()).toMatchObject({ fetched: 1, dispatched: 1 });
    expect(topics).toEqual(['order.paid']);
  });

  test('starts and stops the worker, and emits events', async () => {
    const published = deferred();
    const rows: OutboxRow[] = [];
    const outbox = createOutbox({
      store: memoryStore(),
      publisher: async (row) => {
        rows.push(row);
        published.resolve();
      },
      logger: false,
    });
    const stopped = vi.fn();
    outbox.on('stopped', stopped);
    await outbox.start();
    const [id] = await outbox.enqueue(paid);
    await published.promise;
    expect(rows).toMatchObject([{ id }]);
    expect((await outbox.health()).status).toBe('up');
    await outbox.stop();
    expect(stopped).toHaveBeenCalledExactlyOnceWith({ abandoned: [] });
  });

  test('needs no publisher in a process that only enqueues', async () => {
    const outbox = createOutbox({ store: memoryStore(), worker: false });
    await outbox.start();
    await outbox.enqueue(paid);
    expect(await outbox.store.count()).toMatchObject({ pending: 1 });
    await outbox.stop();
  });

  test('refuses to start a worker without a publisher', async () => {
    const outbox = createOutbox({ store: memoryStore(), logger: false });
    await expect(outbox.start()).rejects.toThrow(refusal('MISSING_BINDING', 'OutboxPublisher is not bound'));
  });

  test('rejects anything but a store module, and unknown options', () => {
    const given = (options: object) => () => createOutbox(options as CreateOutboxOptions<unknown, never>);
    expect(given(undefined as never)).toThrow(refusal('INVALID_CONFIG', 'store must be a store module'));
    expect(given({})).toThrow(refusal('INVALID_CONFIG', 'store must be a store module'));
    expect(given({ store: memoryStore(), maxAttempt: 3 })).toThrow(
      refusal('INVALID_CONFIG', "did you mean 'maxAttempts'?"),
    );
  });

  test('composes additional modules and exposes the application', () => {
    const schema = {
      ensure: async () => {},
      check: async () => [],
      print: () => '',
    } as unknown as OutboxSchema;
    const module = { name: 'tables', provides: [{ provide: OutboxSchema, useValue: schema }] };
    const outbox = createOutbox({ store: memoryStore(), worker: false, modules: [module] });
    expect(outbox.app.get(OutboxSchema)).toBe(schema);
  });
});

describe('topics', () => {
  const topics = {
    'order.paid': schemaOf<{ id: string }>('id'),
    'mail.sent': schemaOf<{ to: string }>('to'),
  };

  test('check payloads and type entries and rows', async () => {
    const outbox = createOutbox({
      store: memoryStore(),
      topics,
      publisher: async (row) => {
        expectTypeOf(row.topic).toEqualTypeOf<'order.paid' | 'mail.sent'>();
        if (row.topic === 'order.paid') expectTypeOf(row.payload).toEqualTypeOf<{ id: string }>();
      },
    });
    await outbox.enqueue({ topic: 'order.paid', payload: { id: '7' } });
    // @ts-expect-error: the payload lacks its field.
    const wrong = outbox.enqueue({ topic: 'order.paid', payload: {} });
    await expect(wrong).rejects.toThrow(refusal('SCHEMA_MISMATCH', 'missing id'));
    // @ts-expect-error: the topic is not declared.
    await outbox.enqueue({ topic: 'order.lost', payload: {} });
  });

  test('infer the transaction of the store', () => {
    const outbox = createOutbox({ store: memoryStore(), worker: false });
    expectTypeOf(outbox.enqueueWith).parameter(0).toEqualTypeOf<MemoryTransaction>();
  });
});

describe('the logger', () => {
  const failing = async (): Promise<void> => {
    throw new Error('the broker is away');
  };

  test('writes a line to standard error by default', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const outbox = createOutbox({ store: memoryStore(), publisher: failing });
    await outbox.enqueue(paid);
    await outbox.dispatchPending();
    expect(write.mock.calls.map(([line]) => line)).toEqual([
      expect.stringMatching(
        /^\[outbox\] warn: row .+ of topic "order\.paid" failed, next try in 0 ms: "the broker is away"\n$/,
      ),
    ]);
  });

  test('is silent if it is false', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const outbox = createOutbox({ store: memoryStore(), publisher: failing, logger: false });
    await outbox.enqueue(paid);
    await outbox.dispatchPending();
    expect(write).not.toHaveBeenCalled();
  });

  test('receives one line for many failures of a topic, and never a payload', async () => {
    const logger: OutboxLogger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    const outbox = createOutbox({ store: memoryStore(), publisher: failing, logger, maxAttempts: 1 });
    await outbox.enqueue(Array.from({ length: 20 }, () => ({ ...paid, payload: 'secret' })));
    await outbox.dispatchPending();
    expect(logger.error).toHaveBeenCalledTimes(1);
    expect(String(vi.mocked(logger.error).mock.calls)).toContain('is dead (exhausted)');
    expect(String(vi.mocked(logger.error).mock.calls)).not.toContain('secret');
  });
});

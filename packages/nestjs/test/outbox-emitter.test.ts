import { OutboxEmitter } from '@postcommit/nestjs';
import { describe, expect, it } from 'vitest';
import { MemoryNest } from './nest-app.js';

class OrderCreatedEvent {
  static readonly eventType = 'order.created';

  constructor(
    readonly orderId: string,
    readonly at: Date,
  ) {}

  get label(): string {
    return `order ${this.orderId}`;
  }
}

class Unnamed {
  readonly orderId = 'o1';
}

const at = new Date('2026-01-31T12:00:00Z');

describe('OutboxEmitter', () => {
  it('stores an event of a class under its type, with its fields as payload, and returns its id', async () => {
    const nest = await MemoryNest.open([]);
    const headers = { tenant: 'acme' };
    const id = await nest.emit(new OrderCreatedEvent('o1', at), { key: 'o1', headers, availableAt: at });
    expect(await nest.row()).toMatchObject({
      id,
      topic: 'order.created',
      payload: { orderId: 'o1', at: at.toISOString() },
      key: 'o1',
      headers,
      availableAt: at,
    });
  });

  it('stores many in order, classes and plain entries, all or none', async () => {
    const nest = await MemoryNest.open([]);
    const emitter = nest.context.get(OutboxEmitter);
    const events = [new OrderCreatedEvent('o1', at), { topic: 'a', payload: 1, id: 'mine' }];
    const ids = await nest.store.transaction((tx) => emitter.emitMany(tx, events, { key: 'k' }));
    expect(ids).toEqual([expect.any(String), 'mine']);
    expect((await nest.rows()).map(({ topic, key }) => [topic, key])).toEqual(
      expect.arrayContaining([
        ['order.created', 'k'],
        ['a', 'k'],
      ]),
    );
    const bad = nest.store.transaction((tx) =>
      emitter.emitMany(tx, [{ topic: 'b', payload: 1 }, new Unnamed()]),
    );
    await expect(bad).rejects.toMatchObject({ code: 'INVALID_ENTRY' });
    expect(await nest.rows()).toHaveLength(2);
    expect(await nest.store.transaction((tx) => emitter.emitMany(tx, []))).toEqual([]);
  });

  it('leaves nothing behind when the transaction rolls back', async () => {
    const nest = await MemoryNest.open([]);
    const emitter = nest.context.get(OutboxEmitter);
    const rolledBack = nest.store.transaction(async (tx) => {
      await emitter.emit(tx, new OrderCreatedEvent('o1', at));
      throw new Error('no stock');
    });
    await expect(rolledBack).rejects.toThrow('no stock');
    expect(await nest.rows()).toEqual([]);
  });

  it('stores the retry options of an event, and the configured ones for the rest', async () => {
    const nest = await MemoryNest.open([]);
    await nest.emit({ topic: 'a', payload: 1, retry: { maxAttempts: 2, backoff: undefined } });
    expect((await nest.row()).retry).toEqual({
      maxAttempts: 2,
      backoff: { type: 'exponential', delayMs: 1_000 },
    });
  });

  it.each([
    ['an instance of a class without eventType', new Unnamed(), 'the class Unnamed has no static eventType'],
    ['null', null as never, 'emit needs an event, got null'],
    ['a string', 'order.created' as never, 'emit needs an event, got string'],
    ['an object without topic', { eventType: 'a' }, "unknown option 'eventType'"],
  ])('refuses %s', async (_what, event, message) => {
    const nest = await MemoryNest.open([]);
    await expect(nest.emit(event)).rejects.toThrow(message);
    expect(await nest.rows()).toEqual([]);
  });

  it('rejects writing without a transaction', async () => {
    const emitter = (await MemoryNest.open([])).context.get(OutboxEmitter);
    for (const tx of [undefined, {}])
      await expect(emitter.emit(tx as never, { topic: 'a', payload: 1 })).rejects.toMatchObject({
        code: 'INVALID_TRANSACTION',
      });
  });
});

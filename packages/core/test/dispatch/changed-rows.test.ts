import { describe, expect, test } from 'vitest';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import type { OutboxInterceptor } from '../../src/observe/interceptors.js';
import { OutboxPublisher, type PublishResult } from '../../src/publish/outbox-publisher.js';
import { entries, listen, openOutbox } from '../outbox-fixture.js';

/** As code without types may do, to fit a row to a broker. */
function overwrite(row: OutboxRow): void {
  Object.assign(row, {
    id: 'changed',
    key: 'changed',
    claimToken: 'changed',
    attempts: 99,
    retry: {},
    topic: 'changed',
  });
}

class Overwriting extends OutboxPublisher {
  async publish(row: OutboxRow): Promise<void> {
    overwrite(row);
    if ((row.payload as { id: string }).id.endsWith('2')) throw new Error('down');
  }
}

class OverwritingTogether extends Overwriting {
  override async publishBatch(rows: readonly OutboxRow[]): Promise<readonly PublishResult[]> {
    return Promise.allSettled(rows.map((row) => this.publish(row)));
  }
}

describe('a row that its publisher overwrites is settled by its original id', () => {
  test.each([
    ['one by one', new Overwriting()],
    ['together', new OverwritingTogether()],
  ])('%s', async (_name, publisher) => {
    const { store, dispatcher, row } = openOutbox();
    const events = new DispatchEvents();
    const heard = listen(events, 'failed');
    await store.enqueue(entries('x1', 'x2', 'A1', 'A2', 'A3'));
    const summary = await dispatcher(publisher, { events }).dispatchPending();
    expect(summary).toMatchObject({ dispatched: 2, failed: 2, dead: 0, fenced: 0 });
    expect((await row('x1')).dispatchedAt).toBeDefined();
    expect((await row('A1')).dispatchedAt).toBeDefined();
    for (const id of ['x2', 'A2']) expect(await row(id)).toMatchObject({ attempts: 1, lastError: 'down' });
    // Its key is broken, whatever the row in front of it called itself.
    const behind = await row('A3');
    expect([behind.attempts, behind.dispatchedAt, behind.claimToken]).toEqual([0, undefined, undefined]);
    expect(heard.map(({ told }) => [told.row.id, told.row.topic])).toEqual([
      ['x2', 'order.paid'],
      ['A2', 'order.paid'],
    ]);
  });

  test('so is a row that an interceptor overwrites', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const interceptor: OutboxInterceptor = {
      publish: async (given, context, next) => {
        overwrite(given);
        await next(given, context);
      },
    };
    const published: string[] = [];
    const publish = async ({ id }: OutboxRow): Promise<number> => published.push(id);
    await dispatcher(publish, { interceptors: [interceptor] }).dispatchPending();
    expect(published).toEqual(['changed']);
    expect((await row('x1')).dispatchedAt).toBeDefined();
  });
});

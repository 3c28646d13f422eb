import {
  OutboxDispatcher,
  OutboxModule,
  OutboxPublisher,
  type OutboxRow,
  OutboxStore,
} from '@postcommit/core';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { expect, it } from 'vitest';
import { compose } from './line-up.js';

const published: unknown[] = [];

class Recorder extends OutboxPublisher {
  async publish(row: OutboxRow): Promise<void> {
    published.push(row.payload);
  }
}

it('the line-up of the document enqueues, and dispatches once a publisher is bound', async () => {
  const modules = [OutboxModule, OutboxMemoryModule];
  const app = compose(modules, { preferences: [{ provide: OutboxPublisher, useClass: Recorder }] });
  await app.get(OutboxStore).enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
  expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ fetched: 1, dispatched: 1 });
  expect(published).toEqual([{ id: '7' }]);
});

it('alone it enqueues, and has no publisher by default', async () => {
  const app = compose([OutboxModule, OutboxMemoryModule]);
  await app.get(OutboxStore).enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
  expect(await app.get(OutboxStore).count()).toMatchObject({ pending: 1 });
  const unbound = {
    code: 'MISSING_BINDING',
    message: expect.stringContaining('preferences: [{ provide: OutboxPublisher'),
  };
  expect(() => app.get(OutboxDispatcher)).toThrow(expect.objectContaining(unbound));
  await expect(app.start()).rejects.toMatchObject(unbound);
});

it('does not survive a restart', async () => {
  const before = compose([OutboxModule, OutboxMemoryModule]);
  await before.get(OutboxStore).enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
  const after = compose([OutboxModule, OutboxMemoryModule]);
  expect(await after.get(OutboxStore).count()).toMatchObject({ total: 0 });
});

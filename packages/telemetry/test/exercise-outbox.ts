import { DispatchEvents, PermanentError } from '@postcommit/core';
import { composeOutbox } from './compose-outbox.js';

/** Runs an application that did a bit of everything, and calls `collect` before it stops. */
export async function exerciseOutbox<T>(collect: () => Promise<T>): Promise<T> {
  const { app, store, dispatcher } = composeOutbox(
    async ({ topic }) => {
      if (topic === 'fails') throw new Error('down');
      if (topic === 'dies') throw new PermanentError('gone');
      if (topic === 'away') throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    },
    {},
    { attributes: { 'outbox.name': 'orders' } },
  );
  await app.start();
  // The test drives the dispatcher, so no worker runs.
  app.get(DispatchEvents).emit('started', {});
  await store.enqueue(['good', 'fails', 'dies', 'away'].map((topic) => ({ topic, payload: {} })));
  await dispatcher.dispatchPending();
  const collected = await collect();
  await app.stop();
  return collected;
}

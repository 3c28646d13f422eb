import { expect, test } from 'vitest';
import { openOutbox } from '../outbox-fixture.js';

const CLAIM_TIMEOUT_MS = 60_000;

/** A claim whose process dies with it, as often as asked. */
async function openWithExpiredClaims() {
  const outbox = openOutbox({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
  await outbox.store.enqueue({ id: 'x1', topic: 'order.paid', payload: 0 });
  const crash = async (): Promise<void> => {
    await outbox.store.fetchPending(1);
    await outbox.clock.advance(CLAIM_TIMEOUT_MS + 1_000);
  };
  /** Claims the row and releases it untried, as a stop does. */
  const release = async (): Promise<void> => {
    const [row] = await outbox.store.fetchPending(1);
    await outbox.store.release(['x1'], row?.claimToken ?? '');
  };
  return { ...outbox, crash, release };
}

test('a row that crashes its process is found, though a stop releases it between the crashes', async () => {
  const { crash, release, row, dispatcher } = await openWithExpiredClaims();
  for (let crashes = 0; crashes < 5; crashes++) {
    await crash();
    await release();
  }
  expect(await row('x1')).toMatchObject({ retakes: 5 });
  const published: string[] = [];
  await dispatcher(async ({ id }) => published.push(id)).dispatchPending();
  expect(published).toEqual([]);
  expect(await row('x1')).toMatchObject({ deadReason: 'crashed', attempts: 0 });
});

test('a retaken row that a stop released is published by the next worker, and its retakes are forgotten', async () => {
  const { clock, crash, release, row, store, worker } = await openWithExpiredClaims();
  await crash();
  await release();
  await store.enqueue({ id: 'x2', topic: 'order.paid', payload: 0 });
  const published: string[] = [];
  const running = worker(async ({ id }) => {
    published.push(id);
    if (id === 'x1' && published.length === 1) throw new Error('not now');
  });
  running.start();
  await clock.advance(10_000);
  expect(published.sort()).toEqual(['x1', 'x1', 'x2']);
  expect(await row('x1')).toMatchObject({ retakes: 0, attempts: 1, dispatchedAt: expect.any(Date) });
  await running.stop();
});

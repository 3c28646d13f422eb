import type { Outcome } from '@postcommit/core';
import { expect } from 'vitest';
import { type BehaviourGroup, CLAIM_TIMEOUT_MS, claim, entries, entry, idsOf, stored } from '../behaviour.js';

const EVERY_KIND: readonly Outcome[] = [
  { id: 'm1', kind: 'dispatched' },
  { id: 'm2', kind: 'failed', error: 'broker down', delayMs: 5_000 },
  { id: 'm3', kind: 'dead', error: 'bad request', reason: 'permanent' },
  { id: 'm4', kind: 'released' },
];

export const settling: BehaviourGroup = {
  name: 'settling',
  behaviours: {
    'one settle can record every kind of outcome': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(4));
      const { token } = await claim(store);
      expect((await store.settle(token, EVERY_KIND)).sort()).toEqual(['m1', 'm2', 'm3', 'm4']);
      expect(await store.count()).toEqual({ pending: 2, dispatched: 1, dead: 1, total: 4 });
      expect(await stored(store, 'm1')).toMatchObject({ attempts: 0, dispatchedAt: expect.any(Date) });
      expect(await stored(store, 'm2')).toMatchObject({ attempts: 1, lastError: 'broker down' });
      expect(await stored(store, 'm3')).toMatchObject({
        attempts: 1,
        lastError: 'bad request',
        deadReason: 'permanent',
        deadAt: expect.any(Date),
      });
      expect(await stored(store, 'm4')).toMatchObject({ attempts: 0 });
    },

    'settling no outcomes changes nothing': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      const { token } = await claim(store);
      expect(await store.settle(token, [])).toEqual([]);
      expect(await store.extendClaim(token, [])).toEqual([]);
    },

    'a failed row waits for its delay': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      const { token } = await claim(store);
      await store.settle(token, [{ id: 'm1', kind: 'failed', error: 'x', delayMs: 30_000 }]);
      expect((await stored(store, 'm1')).claimToken).toBeUndefined();
      await outbox.advance(20_000);
      expect(await store.fetchPending(10)).toEqual([]);
      await outbox.advance(11_000);
      expect((await claim(store)).rows[0]).toMatchObject({ id: 'm1', attempts: 1, retakes: 0 });
    },

    'a failed row without a delay is due at once, behind rows that have waited longer': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3));
      const { token } = await claim(store, 2);
      await outbox.advance(1_000);
      await store.markFailed('m1', 'boom', { claimToken: token });
      await store.release(['m2'], token);
      expect((await claim(store)).ids).toEqual(['m2', 'm3', 'm1']);
    },

    'a released row is due at once or after its delay, and counts no attempt': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      const { token } = await claim(store);
      await store.settle(token, [
        { id: 'm1', kind: 'released' },
        { id: 'm2', kind: 'released', delayMs: 10_000 },
      ]);
      const again = await claim(store);
      expect(again.rows).toHaveLength(1);
      expect(again.rows[0]).toMatchObject({ id: 'm1', attempts: 0, retakes: 0 });
      await store.release(again.ids, again.token);
      await outbox.advance(11_000);
      expect(new Set((await claim(store)).ids)).toEqual(new Set(['m1', 'm2']));
    },

    'a row that dies without an attempt keeps its attempts': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      const { token } = await claim(store);
      await store.settle(token, [{ id: 'm1', kind: 'dead', error: 'x', reason: 'crashed', untried: true }]);
      expect(await stored(store, 'm1')).toMatchObject({ attempts: 0, deadReason: 'crashed' });
    },

    'a settle under a claim that was taken over changes nothing and reports it': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      const kinds: readonly Outcome[] = EVERY_KIND.map((outcome) => ({ ...outcome, id: 'm1' }));
      await store.enqueue(entries(1));
      const stale = await claim(store);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      const owner = await claim(store);
      for (const outcome of kinds) expect(await store.settle(stale.token, [outcome])).toEqual([]);
      expect(await stored(store, 'm1')).toMatchObject({ attempts: 0, retakes: 1, claimToken: owner.token });
      expect(await store.settle(owner.token, [{ id: 'm1', kind: 'dispatched' }])).toEqual(['m1']);
    },

    'a settle under a claim that was released or requeued changes nothing': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      const { token } = await claim(store);
      await store.release(['m1'], token);
      await store.requeue('m2');
      expect(await store.markDispatched(['m1', 'm2'], token)).toEqual([]);
      expect((await store.count()).pending).toBe(2);
    },

    'if only part of a batch is still owned, only that part is settled': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(4));
      const { token } = await claim(store);
      await store.requeue('m2');
      const outcomes = ['m1', 'm2', 'm3', 'm4', 'unknown'].map((id) => ({ id, kind: 'dispatched' }) as const);
      expect((await store.settle(token, outcomes)).sort()).toEqual(['m1', 'm3', 'm4']);
      expect(await store.count()).toMatchObject({ pending: 1, dispatched: 3 });
    },

    'an expired claim that nobody has taken over can still be settled': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(1));
      const { token } = await claim(store);
      await outbox.advance(2 * CLAIM_TIMEOUT_MS);
      expect(await store.markDispatched(['m1'], token)).toEqual(['m1']);
    },

    'a repeated settle returns the same ids and changes nothing': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      const { token } = await claim(store);
      const outcomes: Outcome[] = [
        { id: 'm1', kind: 'dispatched' },
        { id: 'm2', kind: 'dead', error: 'x', reason: 'permanent' },
      ];
      expect((await store.settle(token, outcomes)).sort()).toEqual(['m1', 'm2']);
      const before = [await stored(store, 'm1'), await stored(store, 'm2')];
      expect((await store.settle(token, outcomes)).sort()).toEqual(['m1', 'm2']);
      expect([await stored(store, 'm1'), await stored(store, 'm2')]).toEqual(before);
    },

    'a dispatched row can’t fail or die, and a dead row can’t be dispatched': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      const { token } = await claim(store);
      await store.markDispatched(['m1'], token);
      await store.markDead('m2', 'no', { claimToken: token });
      for (const claimToken of [token, undefined]) {
        const options = claimToken === undefined ? {} : { claimToken };
        expect(await store.markFailed('m1', 'x', options)).toBe(false);
        expect(await store.markDead('m1', 'x', options)).toBe(false);
        expect(await store.markFailed('m2', 'x', options)).toBe(false);
        expect(await store.markDispatched(['m2'], claimToken)).toEqual([]);
      }
      expect(await store.count()).toEqual({ pending: 0, dispatched: 1, dead: 1, total: 2 });
    },

    'an operator settles rows without a token': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(4));
      const { token } = await claim(store, 1);
      expect(await store.markDispatched(['m1', 'm2'])).toEqual(expect.arrayContaining(['m1', 'm2']));
      expect(await store.markFailed('m3', 'by hand')).toBe(true);
      expect(await store.markDead('m4', 'by hand')).toBe(true);
      expect(await store.markDead('unknown', 'by hand')).toBe(false);
      expect(await stored(store, 'm3')).toMatchObject({ attempts: 1, lastError: 'by hand' });
      expect(await stored(store, 'm4')).toMatchObject({
        attempts: 1,
        lastError: 'by hand',
        deadReason: 'exhausted',
      });
      expect(await store.markFailed('m1', 'late', { claimToken: token })).toBe(false);
    },

    'any error text can be stored': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      await store.markFailed('m1', `nul \u0000, half \ud800, quote ' " \\, ${'x'.repeat(20_000)}`);
      const { lastError = '' } = await stored(store, 'm1');
      expect(lastError).toMatch(/^nul \ufffd, half \ufffd, quote ' " \\, x+$/);
      expect(Buffer.byteLength(lastError)).toBeLessThanOrEqual(8_192);
    },

    'secrets in an error text are masked': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      await store.markFailed('m1', 'amqp://app:hunter2@mq refused password=hunter2');
      await store.markDead('m2', 'Authorization: Bearer hunter2');
      expect((await stored(store, 'm1')).lastError).toBe('amqp://***@mq refused password=***');
      expect((await stored(store, 'm2')).lastError).toBe('Authorization: Bearer ***');
    },

    'cancelling a pending row makes it dead and fences its claim': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([...entries(2), entry({ id: 'sent' })]);
      await store.markDispatched(['sent']);
      const { token } = await claim(store, 1);
      await store.cancel('m1');
      await store.cancel('m2');
      expect(await store.cancel('m2'), 'dead already').toBe(false);
      expect(await store.cancel('sent')).toBe(false);
      expect(await store.cancel('unknown')).toBe(false);
      expect(await store.markDispatched(['m1'], token)).toEqual([]);
      expect(await stored(store, 'm1')).toMatchObject({ deadReason: 'cancelled', attempts: 0 });
      expect(idsOf(await store.fetchPending(10))).toEqual([]);
    },

    'cancelling reports whether a live claim may still publish the row': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue([...entries(3), entry({ id: 'keyed', key: 'k' })]);
      const { token, ids } = await claim(store, 10);
      expect(ids).toHaveLength(4);
      await store.release(['m2'], token);
      expect(await store.cancel('m1'), 'claimed').toBe('may-still-be-published');
      expect(await store.cancel('keyed'), 'claimed, with a key').toBe('may-still-be-published');
      expect(await store.cancel('m2'), 'released').toBe('cancelled');
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      expect(await store.cancel('m3'), 'its claim expired').toBe('cancelled');
      await store.enqueue(entry({ id: 'new' }));
      expect(await store.cancel('new'), 'never claimed').toBe('cancelled');
      expect(await store.count()).toMatchObject({ pending: 0, dead: 5 });
    },
  },
};

import {
  EnqueuePipeline,
  type OutboxEntry,
  type PeekOptions,
  type PurgeCut,
  type RowFilter,
} from '@postcommit/core';
import { expect } from 'vitest';
import { type BehaviourGroup, entry, expectError } from '../behaviour.js';

/** An entry that only a JavaScript caller, or a cast, can pass. */
function invalid(fields: Record<string, unknown>): OutboxEntry {
  return { ...entry(), ...fields } as OutboxEntry;
}

const BAD_ENTRIES: ReadonlyArray<[string, OutboxEntry, RegExp]> = [
  ['INVALID_ENTRY', invalid({ topic: '' }), /entry 1: topic is empty/],
  ['INVALID_ENTRY', invalid({ topic: 'x'.repeat(256) }), /entry 1: topic has 256 characters/],
  ['INVALID_ENTRY', invalid({ topic: 'a\u0000b' }), /entry 1: topic contains a NUL/],
  ['INVALID_ENTRY', invalid({ payload: undefined }), /entry 1: payload is undefined/],
  ['INVALID_ENTRY', invalid({ payload: { a: 'x\u0000y' } }), /entry 1: payload\.a contains a NUL/],
  ['INVALID_ENTRY', invalid({ payload: ['\ud800'] }), /entry 1: payload\[0\] contains half a surrogate/],
  ['INVALID_ENTRY', invalid({ payload: { n: 1n } }), /entry 1: payload\.n is a bigint/],
  ['INVALID_ENTRY', invalid({ id: 'x'.repeat(37) }), /entry 1: id must be 1 to 36/],
  ['INVALID_ENTRY', invalid({ key: '' }), /entry 1: key is empty/],
  ['INVALID_ENTRY', invalid({ headers: { a: 1 } }), /entry 1: header 'a' must be a string/],
  ['INVALID_ENTRY', invalid({ availableAt: new Date('never') }), /entry 1: availableAt must be a valid Date/],
  [
    'INVALID_ENTRY',
    invalid({ availableAt: new Date('+010000-01-01T00:00:00Z') }),
    /entry 1: availableAt must lie between the years 1000 and 9999/,
  ],
  ['INVALID_RETRY_POLICY', invalid({ retry: { maxAttempts: 0 } }), /entry 1: maxAttempts/],
  ['PAYLOAD_TOO_LARGE', invalid({ payload: 'x'.repeat(1_048_576) }), /entry 1: payload has 1048578 bytes/],
];

/** The checks are in core. These behaviours show that the store does not bypass them. */
export const validation: BehaviourGroup = {
  name: 'validation',
  behaviours: {
    'one invalid entry rejects the whole call: the error names its index, and nothing is stored': async (
      outbox,
    ) => {
      const store = outbox.createStore();
      for (const [code, bad, message] of BAD_ENTRIES)
        await expectError(store.enqueue([entry(), bad]), code, message);
      expect((await store.count()).total).toBe(0);
    },

    'one invalid entry inside a transaction stores nothing and leaves the transaction usable': async (
      outbox,
    ) => {
      const store = outbox.createStore();
      const tx = await outbox.begin();
      for (const [code, bad] of BAD_ENTRIES)
        await expectError(store.enqueueWith(tx.handle, [entry(), bad]), code);
      await store.enqueueWith(tx.handle, entry());
      await tx.commit();
      expect((await store.count()).total).toBe(1);
    },

    'the same id twice in one call is rejected': async (outbox) => {
      const store = outbox.createStore();
      const twice = [entry({ id: 'x' }), entry({ id: 'y' }), entry({ id: 'x' })];
      await expectError(store.enqueue(twice), 'DUPLICATE_ID', /entry 2: id 'x'/);
      expect((await store.count()).total).toBe(0);
    },

    'a payload that fails its schema is not stored': async (outbox) => {
      const refuseAll = {
        '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'no' }] }) },
      } as const;
      const store = outbox.createStore({
        pipeline: new EnqueuePipeline({ topics: { 'order.paid': refuseAll } }),
      });
      await expectError(store.enqueue(entry()), 'SCHEMA_MISMATCH', /entry 0: .*no/);
      expect((await store.count()).total).toBe(0);
    },

    'an unknown filter or option is rejected, and nothing changes': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([entry({ id: 'dead' }), entry({ id: 'sent' }), entry({ id: 'waits' })]);
      await store.markDead('dead', 'no');
      await store.markDispatched(['sent']);
      const before = await store.count();
      const topics = { topics: 'order.paid' } as RowFilter;
      const unknown = /unknown option 'topics'/;
      await expectError(store.requeueWhere(topics, 10), 'INVALID_ARGUMENT', unknown);
      await expectError(store.peek(topics, 10), 'INVALID_ARGUMENT', unknown);
      await expectError(store.count(topics), 'INVALID_ARGUMENT', unknown);
      const order = { oder: 'oldest' } as PeekOptions;
      await expectError(store.peek({}, 10, order), 'INVALID_ARGUMENT', /unknown option 'oder'/);
      const now = new Date('9999-01-01T00:00:00Z');
      await expectError(store.purgeDispatched(now, topics), 'INVALID_ARGUMENT', unknown);
      await expectError(store.purgeDead(now, topics), 'INVALID_ARGUMENT', unknown);
      const cut = { ageMs: 0, keepLatset: 5 } as PurgeCut;
      await expectError(store.purgeDispatched(cut), 'INVALID_ARGUMENT', /unknown option 'keepLatset'/);
      const delay = { delay: 5 } as { delayMs?: number };
      await expectError(store.markFailed('waits', 'no', delay), 'INVALID_ARGUMENT', /unknown option 'delay'/);
      const except = { exceptTopic: ['order.paid'] } as { exceptTopics?: string[] };
      await expectError(store.fetchPending(10, except), 'INVALID_ARGUMENT', /unknown option 'exceptTopic'/);
      await expectError(store.enqueue(invalid({ topc: 'x' })), 'INVALID_ENTRY', /unknown option 'topc'/);
      expect(await store.count()).toEqual(before);
    },

    'invalid limits and ages are rejected': async (outbox) => {
      const store = outbox.createStore();
      for (const limit of [0, -1, 1.5, Number.NaN]) {
        await expectError(store.fetchPending(limit), 'INVALID_ARGUMENT', /limit/);
        await expectError(store.peek({}, limit), 'INVALID_ARGUMENT', /limit/);
        await expectError(store.requeueWhere({}, limit), 'INVALID_ARGUMENT', /limit/);
      }
      await expectError(store.purgeDispatched({ ageMs: -1 }), 'INVALID_ARGUMENT');
      await expectError(store.purgeDispatched(new Date('never')), 'INVALID_ARGUMENT');
      for (const keepLatest of [-1, 1.5, Number.NaN])
        await expectError(store.purgeDispatched({ keepLatest }), 'INVALID_ARGUMENT', /keepLatest/);
      await expectError(
        store.markFailed('x', 'error', { delayMs: Number.NaN }),
        'INVALID_ARGUMENT',
        /delayMs/,
      );
    },
  },
};

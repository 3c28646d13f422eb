import { readFileSync } from 'node:fs';
import {
  OutboxDispatcher,
  type OutboxStore,
  OutboxWorker,
  type TransactionalOutboxStore,
} from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { describeOutboxStore, type OutboxFixture } from '@postcommit/store-testkit';
import ts from 'typescript';
import { describe, expect, it, vi } from 'vitest';
import { root } from '../documentation/pages.js';
import { tableUnder } from '../documentation/tables.js';
import { MinimalStore, MinimalTable } from './minimal-store.js';
import { NineMethodStore } from './nine-method-store.js';

/** What the document's abstract class has. */
const NINE = [
  'enqueue',
  'fetchPending',
  'markDispatched',
  'markFailed',
  'markDead',
  'count',
  'peek',
  'requeue',
  'purgeDispatched',
];

/** The members of our contract that a store must write itself. */
function abstractMembers(): string[] {
  const path = `${root}/packages/core/src/index.ts`;
  const program = ts.createProgram([path], {
    module: ts.ModuleKind.NodeNext,
    skipLibCheck: true,
    noLib: true,
  });
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(path);
  const index = file && checker.getSymbolAtLocation(file);
  const found = index && checker.getExportsOfModule(index).find(({ name }) => name === 'OutboxStore');
  if (!found) throw new Error('the core exports no OutboxStore');
  return checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(checker.getAliasedSymbol(found)))
    .filter(({ declarations: [declaration] = [] }) =>
      declaration && ts.canHaveModifiers(declaration)
        ? ts.getModifiers(declaration)?.some(({ kind }) => kind === ts.SyntaxKind.AbstractKeyword)
        : false,
    )
    .map(({ name }) => name);
}

describe('a store with the nine methods of the document', () => {
  const page = 'docs/decisions/store-methods.md';
  const rows = tableUnder(page, 'The methods of a store');
  const namesOf = (column: string): string[] =>
    rows.flatMap((row) => [...(row[column] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name));

  it('has those nine, and lacks what the decision lists', () => {
    for (const name of NINE) expect(NineMethodStore.prototype).toHaveProperty(name, expect.any(Function));
    const lacking = abstractMembers().filter((name) => !NINE.includes(name));
    expect(namesOf('add').sort()).toEqual(lacking.sort());
    const text = readFileSync(new URL('./nine-method-store.ts', import.meta.url), 'utf8');
    const [, announced = ''] = /@ts-expect-error: lacks (.*)\n/.exec(text) ?? [];
    expect(announced.split(/, | and /)).toEqual(lacking.sort());
  });

  it('leaves out what the contract derives', () => {
    const derived = NINE.filter((name) => !abstractMembers().includes(name));
    expect(namesOf('instead of').sort()).toEqual(derived.sort());
    for (const name of derived) expect(Object.hasOwn(MinimalStore.prototype, name), name).toBe(false);
  });
});

/** The testkit's fixture, but for transactions: the document's contract has none. */
function open(): OutboxFixture {
  const clock = new VirtualClock();
  const table = new MinimalTable(() => clock.now());
  return {
    createStore: (options) =>
      new MinimalStore(table, options) as unknown as TransactionalOutboxStore<unknown>,
    now: async () => new Date(clock.now()),
    advance: (ms) => clock.advance(ms),
    begin: () => Promise.reject(new Error('this store has no transactions')),
    close: async () => {},
  };
}

const reason = "the document's contract has no transactions";
describeOutboxStore('the same store with what it lacked', {
  open: async () => open(),
  skip: [
    { name: 'transactions', reason },
    { name: 'workers', reason: 'optional: crashed workers are noticed when their claims expire' },
    { name: 'takeovers', reason: 'optional, too' },
    { name: 'pauses', reason: 'optional: no topic can be paused' },
    { name: 'when the next row falls due', reason: 'optional: the worker of such a store polls' },
    {
      name: 'one invalid entry inside a transaction stores nothing and leaves the transaction usable',
      reason,
    },
    {
      name: 'a row whose transaction commits late is not claimed while a later row of its key is in flight',
      reason,
    },
    { name: 'a row of another key in the midst of them is found however late it commits', reason },
  ],
});

describe('the dispatcher on that store', () => {
  const entry = { topic: 'order.paid', payload: { id: '7' } };

  it('publishes, retries with a backoff, and gives up on rows that never succeed', async () => {
    const clock = new VirtualClock();
    const store = new MinimalStore(new MinimalTable(() => clock.now()));
    const publish = vi.fn(async ({ payload }: { payload: unknown }) => {
      if (payload === 'bad') throw new Error('refused');
    });
    const backoff = { type: 'fixed', delayMs: 1_000 } as const;
    const dispatcher = new OutboxDispatcher(store, publish, { clock, maxAttempts: 2, backoff });
    await store.enqueue([entry, { ...entry, payload: 'bad' }]);
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1, failed: 1 });
    expect(await dispatcher.dispatchPending(), 'the backoff').toMatchObject({ fetched: 0 });
    await clock.advance(1_000);
    expect(await dispatcher.dispatchPending()).toMatchObject({ dead: 1 });
    expect(await store.peek({ state: 'dead' }, 10)).toMatchObject([{ lastError: 'refused', attempts: 2 }]);
  });

  it('rejects the ack of a process whose claim was taken over', async () => {
    const clock = new VirtualClock();
    const table = new MinimalTable(() => clock.now());
    const [slow, other] = [new MinimalStore(table), new MinimalStore(table)];
    await slow.enqueue(entry);
    const [claimed] = await slow.fetchPending(1);
    await clock.advance(slow.claimTimeoutMs + 1);
    const dispatcher = new OutboxDispatcher(other, async () => {}, { clock });
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(
      await slow.markFailed(String(claimed?.id), 'late', { claimToken: String(claimed?.claimToken) }),
    ).toBe(false);
    expect(await other.count()).toMatchObject({ pending: 0, dispatched: 1 });
  });

  it('drives a worker, too', async () => {
    const store: OutboxStore = new MinimalStore();
    const worker = new OutboxWorker(store, async () => {});
    worker.start();
    await store.enqueue(Array.from({ length: 120 }, () => entry));
    await vi.waitUntil(async () => (await store.count()).dispatched === 120, { timeout: 10_000 });
    expect(await worker.stop()).toEqual([]);
  });
});

import { MemoryOutboxStore, MemoryTable, MemoryTransaction, VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';

const entry = { topic: 'order.paid', payload: {} };

function openStore(): { store: MemoryOutboxStore; ids(): Promise<string[]> } {
  const store = new MemoryOutboxStore({ table: new MemoryTable(new VirtualClock()) });
  return { store, ids: async () => (await store.peek({ state: 'pending' }, 100)).map(({ id }) => id) };
}

const ended = expect.objectContaining({ code: 'INVALID_TRANSACTION' });

describe('MemoryTransaction', () => {
  test('its rows are invisible before the commit', async () => {
    const { store, ids } = openStore();
    const tx = store.begin();
    await store.enqueueWith(tx, { ...entry, id: 'a' });
    expect(await ids()).toEqual([]);
    expect(await store.fetchPending(10)).toEqual([]);
    tx.commit();
    expect(await ids()).toEqual(['a']);
  });

  test('a rollback leaves nothing, and its ids can be used again', async () => {
    const { store, ids } = openStore();
    const tx = store.begin();
    await store.enqueueWith(tx, { ...entry, id: 'a' });
    tx.rollback();
    expect(await ids()).toEqual([]);
    expect(await store.enqueue({ ...entry, id: 'a' })).toEqual(['a']);
  });

  test('a savepoint undoes only what came after it', async () => {
    const { store, ids } = openStore();
    const tx = store.begin();
    await store.enqueueWith(tx, { ...entry, id: 'a' });
    const undo = tx.savepoint();
    await store.enqueueWith(tx, { ...entry, id: 'b' });
    const undoInner = tx.savepoint();
    await store.enqueueWith(tx, { ...entry, id: 'c' });
    undo();
    undoInner();
    await store.enqueueWith(tx, { ...entry, id: 'b' });
    tx.commit();
    expect(await ids()).toEqual(['a', 'b']);
  });

  test('an id in an open transaction is taken, as with a unique index', async () => {
    const { store } = openStore();
    const tx = store.begin();
    await store.enqueueWith(tx, { ...entry, id: 'a' });
    const duplicate = expect.objectContaining({
      code: 'DUPLICATE_ID',
      message: "a row with id 'a' already exists",
    });
    await expect(store.enqueue({ ...entry, id: 'a' })).rejects.toThrow(duplicate);
    await expect(store.enqueueWith(tx, { ...entry, id: 'a' })).rejects.toThrow(duplicate);
    tx.commit();
    await expect(store.enqueue({ ...entry, id: 'a' })).rejects.toThrow(duplicate);
  });

  test('accepts nothing more once it has ended', async () => {
    const { store } = openStore();
    for (const end of ['commit', 'rollback'] as const) {
      const tx = store.begin();
      expect(tx.isOpen).toBe(true);
      tx[end]();
      expect(tx.isOpen).toBe(false);
      await expect(store.enqueueWith(tx, entry)).rejects.toThrow(ended);
      expect(() => tx.insert([])).toThrow(ended);
      expect(() => tx.savepoint()).toThrow(ended);
      expect(() => tx.commit()).toThrow(ended);
      expect(() => tx.rollback()).toThrow(ended);
    }
  });

  test('a savepoint can’t be rolled back once the transaction has ended', async () => {
    const { store } = openStore();
    const tx = store.begin();
    const undo = tx.savepoint();
    await store.enqueueWith(tx, entry);
    tx.commit();
    expect(undo).toThrow(ended);
    expect(await store.count()).toMatchObject({ total: 1 });
  });

  test('is rejected by the store of another table, and so is anything else', async () => {
    const { store } = openStore();
    const another = new MemoryTransaction(new MemoryTable());
    await expect(store.enqueueWith(another, entry)).rejects.toThrow(ended);
    await expect(store.enqueueWith({} as never, entry)).rejects.toThrow(ended);
  });
});

describe('transaction', () => {
  test('commits when the work resolves, and returns its result', async () => {
    const { store, ids } = openStore();
    expect(await store.transaction((tx) => store.enqueueWith(tx, { ...entry, id: 'a' }))).toEqual(['a']);
    expect(await ids()).toEqual(['a']);
  });

  test('rolls back when the work rejects, and rethrows', async () => {
    const { store, ids } = openStore();
    const error = new Error('out of stock');
    const work = store.transaction(async (tx) => {
      await store.enqueueWith(tx, entry);
      throw error;
    });
    await expect(work).rejects.toBe(error);
    expect(await ids()).toEqual([]);
  });

  test('the error of work that ended the transaction itself is kept', async () => {
    const { store } = openStore();
    const work = store.transaction(async (tx) => {
      tx.rollback();
      throw new Error('after the rollback');
    });
    await expect(work).rejects.toThrow('after the rollback');
  });
});

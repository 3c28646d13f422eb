import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { useSqlite } from './sqlite-fixture.js';

const open = useSqlite();
const paid = { id: 'message-1', topic: 'order.paid', payload: 1 };

/** The ids in a database as it was saved. */
async function idsIn(saved: Uint8Array): Promise<string[]> {
  const dataSource = await new DataSource({ type: 'sqljs', database: saved }).initialize();
  const rows = await new TypeormOutboxStore(dataSource).peek({}, 100);
  await dataSource.destroy();
  return rows.map(({ id }) => id).sort();
}

/** A data source that keeps what it saves. */
async function openSaving(): Promise<{
  dataSource: DataSource;
  saves: Uint8Array[];
  greatest: () => number;
}> {
  const saves: Uint8Array[] = [];
  let running = 0;
  let greatest = 0;
  const dataSource = await open({
    autoSave: true,
    autoSaveCallback: async (data: Uint8Array) => {
      running += 1;
      greatest = Math.max(greatest, running);
      await new Promise((resolve) => setImmediate(resolve));
      saves.push(data);
      running -= 1;
    },
  });
  return { dataSource, saves, greatest: () => greatest };
}

describe('autoSave', () => {
  it('an enqueue is saved when it resolves', async () => {
    const { dataSource, saves } = await openSaving();
    await new TypeormOutboxStore(dataSource).enqueue(paid);
    expect(await idsIn(saves.at(-1) ?? new Uint8Array())).toEqual(['message-1']);
  });

  it('ensure is saved, too', async () => {
    const { saves } = await openSaving();
    expect(await idsIn(saves.at(-1) ?? new Uint8Array())).toEqual([]);
  });

  it('a call that changes nothing is not saved', async () => {
    const { dataSource, saves } = await openSaving();
    const store = new TypeormOutboxStore(dataSource);
    const before = saves.length;
    await store.fetchPending(10);
    await store.count();
    await store.markDispatched(['unknown']);
    expect(saves).toHaveLength(before);
  });

  it('saves never run concurrently: they may write to the same file', async () => {
    const { dataSource, saves, greatest } = await openSaving();
    const stores = Array.from({ length: 5 }, () => new TypeormOutboxStore(dataSource));
    await Promise.all(stores.map((store, index) => store.enqueue({ ...paid, id: `m${index}` })));
    expect(greatest()).toBe(1);
    expect(await idsIn(saves.at(-1) ?? new Uint8Array())).toEqual(['m0', 'm1', 'm2', 'm3', 'm4']);
  });

  it('a statement at the beginning of a transaction waits, because its save would be skipped', async () => {
    const { dataSource, saves } = await openSaving();
    const queryRunner = dataSource.createQueryRunner();
    const starting = queryRunner.startTransaction();
    const enqueuing = new TypeormOutboxStore(dataSource).enqueue(paid);
    await starting;
    await queryRunner.rollbackTransaction();
    await enqueuing;
    expect(await idsIn(saves.at(-1) ?? new Uint8Array())).toEqual(['message-1']);
  });

  it('a failing save is reported to the call that waits for it, and to no other', async () => {
    let isBroken = false;
    const dataSource = await open({
      autoSave: true,
      autoSaveCallback: async () => {
        if (isBroken) throw new Error('disk full');
      },
    });
    const store = new TypeormOutboxStore(dataSource);
    isBroken = true;
    const failing = store.enqueue(paid);
    const beside = store.count();
    await expect(failing).rejects.toThrow('disk full');
    expect((await beside).total).toBe(1);
  });

  it('writes a file, which the next start reads', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postcommit-sqlite-'));
    try {
      const location = join(folder, 'app.db');
      const dataSource = await open({ autoSave: true, location });
      await new TypeormOutboxStore(dataSource).enqueue(paid);
      await dataSource.destroy();
      expect(await idsIn(await readFile(location))).toEqual(['message-1']);
      const again = new TypeormOutboxStore(await open({ autoSave: true, location }));
      expect(await again.fetchPending(10)).toMatchObject([{ id: 'message-1' }]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

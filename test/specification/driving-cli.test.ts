import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import { myapp } from './my-app.js';
import { useOrdersDatabase } from './orders-database.js';

const database = useOrdersDatabase();
let store: TypeormOutboxStore;

beforeEach(() => {
  store = new TypeormOutboxStore(database.dataSource);
});

async function enqueue(count: number): Promise<void> {
  await store.enqueue(Array.from({ length: count }, (_, payload) => ({ topic: 'order.paid', payload })));
}

describe('$ myapp outbox:dispatch', () => {
  it('publishes a batch and prints one line', async () => {
    await enqueue(12);
    expect(await myapp(database.url, 'outbox:dispatch')).toEqual({
      code: 0,
      stdout: 'outbox:dispatch fetched=12 dispatched=12 failed=0 dead=0\n',
      stderr: '',
    });
  });

  it('--loop drains everything pending', async () => {
    await enqueue(120);
    expect((await myapp(database.url, 'outbox:dispatch')).stdout).toContain('fetched=50');
    expect((await myapp(database.url, 'outbox:dispatch --loop')).stdout).toContain(
      'fetched=70 dispatched=70',
    );
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 120 });
  });

  it('--limit 10 takes a smaller batch', async () => {
    await enqueue(12);
    expect((await myapp(database.url, 'outbox:dispatch --limit 10')).stdout).toContain(
      'fetched=10 dispatched=10',
    );
    expect(await store.count()).toMatchObject({ pending: 2 });
  });

  it('counts what failed and what died', async () => {
    await enqueue(1);
    const options = { publisher: () => Promise.reject(new Error('down')), maxAttempts: 2 };
    const first = await myapp(database.url, 'outbox:dispatch', options);
    const second = await myapp(database.url, 'outbox:dispatch', options);
    expect([first.stdout, second.stdout]).toEqual([
      'outbox:dispatch fetched=1 dispatched=0 failed=1 dead=0\n',
      'outbox:dispatch fetched=1 dispatched=0 failed=0 dead=1\n',
    ]);
  });
});

import { Injectable, OutboxDispatcher, OutboxModule, type OutboxRow, OutboxStore } from '@postcommit/core';
import { OnEvent, OutboxEvent, OutboxEventsModule } from '@postcommit/publisher-events';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { describe, expect, it } from 'vitest';
import { shiftTimes } from '../../packages/store-sql/test/postgres-fixture.js';
import { compose } from './line-up.js';
import { myapp } from './my-app.js';
import { useOrdersDatabase } from './orders-database.js';

const CLAIM_TIMEOUT_MS = 5 * 60_000;
const database = useOrdersDatabase();
const entry = { topic: 'order.paid', payload: { id: '7' } };

function composeWith(publisher: (row: OutboxRow) => Promise<void>, maxAttempts = Number.POSITIVE_INFINITY) {
  const app = compose([
    OutboxModule.forRoot({ publisher, maxAttempts }),
    OutboxTypeormModule.forRoot({ dataSource: database.dataSource }),
  ]);
  return { store: app.get(OutboxStore), dispatcher: app.get(OutboxDispatcher) };
}

describe('the table of failure modes', () => {
  it('dispatcher crashes mid-publish: another one retries after claimTimeoutMs, by default 5 minutes', async () => {
    const published: string[] = [];
    const { store, dispatcher } = composeWith(async ({ id }) => void published.push(id));
    const ids = await store.enqueue([entry, entry, entry]);
    // A crash: the batch was claimed, and then nothing more was heard of it.
    await store.fetchPending(50);
    await shiftTimes(database, CLAIM_TIMEOUT_MS - 60_000);
    expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 0 });
    await shiftTimes(database, 60_000);
    // Orphaned rows come one by one, so that one that kills its process takes no other along.
    for (const _ of ids) expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(published.sort()).toEqual([...ids].sort());
  });

  it('publisher throws transiently: attempts grow, the claim is cleared, the next tick retries', async () => {
    let fails = 1;
    const { store, dispatcher } = composeWith(async () => {
      if (fails-- > 0) throw new Error('502');
    });
    await store.enqueue([entry]);
    expect(await dispatcher.dispatchPending()).toMatchObject({ failed: 1 });
    expect(await database.query('select attempts, claimed_at, claim_token from outbox')).toEqual([
      { attempts: 1, claimed_at: null, claim_token: null },
    ]);
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1 });
  });

  it('publisher throws permanently: after maxAttempts the row is dead, and listed', async () => {
    const { store, dispatcher } = composeWith(() => Promise.reject(new Error('no such customer')), 10);
    const [id] = await store.enqueue([entry]);
    for (let attempt = 1; attempt < 10; attempt++)
      expect(await dispatcher.dispatchPending()).toMatchObject({ failed: 1, dead: 0 });
    expect(await dispatcher.dispatchPending()).toMatchObject({ failed: 0, dead: 1 });
    const { stdout } = await myapp(database.url, 'outbox:list --state dead');
    expect(stdout).toContain(`${id} state=dead topic=order.paid attempts=10`);
  });

  it('a limit that is set later applies to existing rows', async () => {
    const failing = () => Promise.reject(new Error('no such customer'));
    const unbounded = composeWith(failing);
    await unbounded.store.enqueue([entry]);
    for (let attempt = 0; attempt < 12; attempt++) await unbounded.dispatcher.dispatchPending();
    expect(await composeWith(failing, 10).dispatcher.dispatchPending()).toMatchObject({ dead: 1 });
  });

  it('two dispatcher instances racing: disjoint batches', async () => {
    const published: string[] = [];
    const publisher = async ({ id }: OutboxRow): Promise<void> => void published.push(id);
    const instances = [composeWith(publisher), composeWith(publisher), composeWith(publisher)];
    const ids = await instances[0]?.store.enqueue(Array.from({ length: 120 }, () => entry));
    const summaries = await Promise.all(instances.map(({ dispatcher }) => dispatcher.dispatchPending(40)));
    expect(new Set(published).size).toBe(published.length);
    expect(summaries.reduce((sum, { dispatched }) => sum + dispatched, 0)).toBe(published.length);
    while ((await instances[0]?.dispatcher.dispatchPending())?.fetched);
    expect(published.sort()).toEqual([...(ids ?? [])].sort());
  });

  it('at-least-once duplicates: the id is the same, so an idempotent listener acts once', async () => {
    const heard: string[] = [];
    const charged = new Set<string>();

    @Injectable()
    class Charger {
      @OnEvent(OutboxEvent, { name: 'charger' })
      on(event: OutboxEvent) {
        heard.push(event.id);
        charged.add(event.id);
      }
    }

    const app = compose([
      OutboxModule,
      OutboxTypeormModule.forRoot({ dataSource: database.dataSource }),
      OutboxEventsModule.forRoot({ listeners: [Charger] }),
    ]);
    const store = app.get(OutboxStore);
    const [id] = await store.enqueue([entry]);
    await app.get(OutboxDispatcher).dispatchPending();
    // A crash after the publish and before the mark leaves this behind: the row is still claimed.
    await database.query(
      `update outbox set dispatched_at = null, claim_token = 'crashed', claimed_at = now(),
       claimed_until = now() + interval '5 minutes'`,
    );
    await shiftTimes(database, CLAIM_TIMEOUT_MS);
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(heard).toEqual([id, id]);
    expect([...charged]).toEqual([id]);
  });
});

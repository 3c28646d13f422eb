import { Lifecycles, type Module, OutboxDispatcher, OutboxStore, OutboxWorker } from '@postcommit/core';
import { OnOutboxEvent, OutboxModule } from '@postcommit/nestjs';
import { MemoryOutboxStore } from '@postcommit/store-memory';
import { describe, expect, it, vi } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { PrismaService } from './guide-app/prisma.service.js';
import { LogLines, nestModule, openContext } from './nest-app.js';

const fixture = usePostgres();

/** A handler that reports when it has started, and ends when it is released. */
class Gate {
  begin: () => void = () => {};
  end: () => void = () => {};
  readonly begun = new Promise<void>((resolve) => {
    this.begin = resolve;
  });
  readonly ended = new Promise<void>((resolve) => {
    this.end = resolve;
  });

  @OnOutboxEvent('order.paid')
  async on(): Promise<void> {
    this.begin();
    await this.ended;
  }
}

const entry = { topic: 'order.paid', payload: 1 };

describe('the worker', () => {
  it('starts after every provider has been initialized', async () => {
    const order: string[] = [];
    class Slow {
      async onModuleInit(): Promise<void> {
        await new Promise(setImmediate);
        order.push('initialised');
      }

      @OnOutboxEvent('order.paid')
      on(): void {
        order.push('handled');
      }
    }
    const store = new MemoryOutboxStore();
    await store.enqueue(entry);
    await openContext({ imports: [OutboxModule.forRoot({ store })], providers: [Slow] });
    await vi.waitUntil(() => order.length === 2);
    expect(order).toEqual(['initialised', 'handled']);
  });

  it('does not run if polling is off', async () => {
    const store = new MemoryOutboxStore();
    const nest = await openContext({
      imports: [OutboxModule.forRoot({ store, polling: { enabled: false } })],
    });
    expect(await nest.get(OutboxWorker).health()).toMatchObject({ status: 'stopped' });
  });

  it('does not run in an application for commands, wherever the outbox is imported', async () => {
    const store = new MemoryOutboxStore();
    const starts: string[] = [];
    const watched: Module = {
      name: 'watched',
      contributes: [
        {
          to: Lifecycles,
          useValue: {
            name: 'watched',
            phase: 'resource',
            start: () => void starts.push('start'),
            stop: () => {},
          },
        },
      ],
    };
    const outbox = OutboxModule.forRootAsync({ useFactory: () => ({ store }), modules: [watched] });
    const app = nestModule({ imports: [nestModule({ imports: [outbox] }, 'Inner')], providers: [Gate] });
    const nest = await openContext({ imports: [OutboxModule.forCommands(app)] });
    expect(await nest.get(OutboxWorker).health()).toMatchObject({ status: 'stopped' });
    expect(starts, 'each command opens what it needs').toEqual([]);
    const [id] = await store.enqueue(entry);
    nest.get(Gate).end();
    expect(await nest.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(await store.peek({ state: 'dispatched' }, 10)).toMatchObject([{ id }]);
  });

  it('waits at the close for running handlers', async () => {
    const store = new MemoryOutboxStore();
    const nest = await openContext({ imports: [OutboxModule.forRoot({ store })], providers: [Gate] });
    const gate = nest.get(Gate);
    await store.enqueue(entry);
    await gate.begun;
    const closed = nest.close();
    gate.end();
    await closed;
    expect(await store.count()).toMatchObject({ dispatched: 1 });
  });

  it('waits no longer than shutdownGraceMs, and logs what it abandoned', async () => {
    const log = new LogLines();
    const store = new MemoryOutboxStore();
    const outbox = OutboxModule.forRoot({ store, shutdownGraceMs: 1 });
    const nest = await openContext({ imports: [outbox], providers: [Gate] }, log);
    const [id] = await store.enqueue(entry);
    await nest.get(Gate).begun;
    await nest.close();
    expect(log.lines).toContain(
      `warn outbox worker stopped with unfinished events, left to another process: ${id}`,
    );
    expect(await store.count()).toMatchObject({ pending: 1 });
  });
});

describe('the hooks of a Prisma client that is a provider', () => {
  it('are called once, although the outbox uses it too', async () => {
    const calls: string[] = [];
    class HookedPrisma extends PrismaService {
      onModuleInit(): void {
        calls.push('init');
      }

      onModuleDestroy(): void {
        calls.push('destroy');
      }
    }
    process.env.DATABASE_URL = fixture.url;
    const open = (outbox: ReturnType<typeof OutboxModule.forRoot>) =>
      openContext({ imports: [outbox], providers: [HookedPrisma] });
    const byClass = await open(OutboxModule.forRoot({ prisma: HookedPrisma, polling: { enabled: false } }));
    expect(await byClass.get(OutboxStore).count()).toMatchObject({ pending: 0 });
    await byClass.close();
    expect(calls).toEqual(['init', 'destroy']);
    const client = new HookedPrisma();
    const byClient = await openContext({
      imports: [OutboxModule.forRoot({ prisma: client, polling: { enabled: false } })],
      providers: [{ provide: HookedPrisma, useValue: client }],
    });
    await byClient.close();
    expect(calls).toEqual(['init', 'destroy', 'init', 'destroy']);
  });
});

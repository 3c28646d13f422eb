import { Inject, Injectable, Module } from '@nestjs/common';
import {
  OutboxModule as CoreModule,
  OutboxDispatcher,
  OutboxPublisher,
  type OutboxRow,
  OutboxStore,
  OutboxWorker,
  type PublishResult,
  type Token,
} from '@postcommit/core';
import { OUTBOX_APP, OutboxEmitter, OutboxModule, type OutboxModuleOptions } from '@postcommit/nestjs';
import { MemoryOutboxStore, OutboxMemoryModule } from '@postcommit/store-memory';
import { PrismaOutboxStore } from '@postcommit/store-prisma';
import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../src/resolve-options.js';
import { MemoryNest, nestModule, openContext } from './nest-app.js';

const quiet = { polling: { enabled: false } } as const;

const refusal = (message: string): unknown =>
  expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining(message) });

async function emitted(options: OutboxModuleOptions): Promise<OutboxRow> {
  const store = new MemoryOutboxStore();
  const nest = await openContext({ imports: [OutboxModule.forRoot({ ...quiet, ...options, store })] });
  await store.transaction((tx) => nest.get(OutboxEmitter).emit(tx, { topic: 'a', payload: 1 }));
  const [row] = await store.peek({}, 1);
  if (!row) throw new Error('nothing was emitted');
  return row;
}

describe('retry', () => {
  it('is stored with the event: five attempts, doubling from one second, unless configured', async () => {
    expect((await emitted({})).retry).toEqual({
      maxAttempts: 5,
      backoff: { type: 'exponential', delayMs: 1_000 },
    });
    const retry = { maxRetries: 3, backoff: 'fixed', initialDelay: 250 } as const;
    expect((await emitted({ retry })).retry).toEqual({
      maxAttempts: 3,
      backoff: { type: 'fixed', delayMs: 250 },
    });
  });

  it('waits 1, 2, 4 and 8 seconds, and dies at the fifth failure', async () => {
    const nest = await MemoryNest.open([], { publisher: () => Promise.reject(new Error('down')) });
    await nest.emit({ topic: 'a', payload: 1 });
    for (const seconds of [1, 2, 4, 8]) {
      expect(await nest.dispatch()).toMatchObject({ failed: 1, dead: 0 });
      await nest.clock.advance(seconds * 1_000 - 1);
      expect(await nest.dispatch()).toMatchObject({ fetched: 0 });
      await nest.clock.advance(1);
    }
    expect(await nest.dispatch()).toMatchObject({ failed: 0, dead: 1 });
    expect(await nest.row()).toMatchObject({ attempts: 5, deadReason: 'exhausted', lastError: 'down' });
  });

  it('of a deployment with other options does not change events in flight', async () => {
    const store = new MemoryOutboxStore();
    const open = (maxRetries: number) =>
      openContext({
        imports: [
          OutboxModule.forRoot({
            ...quiet,
            store,
            retry: { maxRetries, initialDelay: 0 },
            publisher: () => Promise.reject(new Error('down')),
          }),
        ],
      });
    const [before, after] = [await open(2), await open(9)];
    await store.transaction((tx) => before.get(OutboxEmitter).emit(tx, { topic: 'a', payload: 1 }));
    expect(await after.get(OutboxDispatcher).dispatchPending()).toMatchObject({ failed: 1 });
    expect(await after.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dead: 1 });
  });
});

describe('the defaults', () => {
  it('are those of the documents', () => {
    const { core, claimTimeoutMs, isPolling } = resolveOptions({});
    expect(core).toEqual({
      worker: true,
      pollIntervalMs: 5_000,
      batchSize: 100,
      maxAttempts: 5,
      backoff: { type: 'exponential', delayMs: 1_000 },
    });
    expect([claimTimeoutMs, isPolling]).toEqual([300_000, true]);
  });

  it('can be overridden, and leave the rest to the core', () => {
    const onDead = () => {};
    const polling = { enabled: false, interval: 50, batchSize: 7 };
    expect(resolveOptions({ polling, concurrency: 3, publishTimeoutMs: 900, onDead }).core).toMatchObject({
      worker: false,
      pollIntervalMs: 50,
      batchSize: 7,
      concurrency: 3,
      publishTimeoutMs: 900,
      onDead,
    });
  });
});

describe('the takeover of a dead instance', () => {
  const takeoverOf = (options: Parameters<typeof resolveOptions>[0]): unknown =>
    resolveOptions(options).core.takeoverAfterMs;

  it('is left to the core by default', () => {
    expect(takeoverOf({})).toBeUndefined();
    expect(takeoverOf({ takeoverAfterMs: 20_000 })).toBe(20_000);
    expect(takeoverOf({ takeoverAfterMs: false })).toBe(false);
  });

  it('is off where stuckThreshold says how long events stay with an instance, unless both are set', () => {
    expect(takeoverOf({ stuckThreshold: 60_000 })).toBe(false);
    expect(takeoverOf({ stuckThreshold: 60_000, takeoverAfterMs: 20_000 })).toBe(20_000);
  });

  it('is refused by its name if it is invalid', () => {
    expect(() => OutboxModule.forRoot({ store: OutboxMemoryModule, takeoverAfterMs: 0 })).toThrow(
      'takeoverAfterMs must be at least 1',
    );
  });
});

it('maxAgeMs is passed on', () => {
  expect(resolveOptions({ maxAgeMs: 1_000 }).core).toMatchObject({ maxAgeMs: 1_000 });
});

describe('store', () => {
  it('can be a store module, with its tokens as providers', async () => {
    const nest = await openContext({
      imports: [OutboxModule.forRoot({ ...quiet, store: OutboxMemoryModule })],
    });
    expect(nest.get(OutboxStore)).toBe(nest.get(MemoryOutboxStore));
  });

  it('can be a function that creates one, with the time-out and checks of this module', async () => {
    const nest = await openContext({
      imports: [
        OutboxModule.forRoot({
          ...quiet,
          stuckThreshold: 60_000,
          maxPayloadBytes: 10,
          store: (options) => new MemoryOutboxStore(options),
        }),
      ],
    });
    const store = nest.get(OutboxStore);
    expect(store.claimTimeoutMs).toBe(60_000);
    await expect(store.enqueue({ topic: 'a', payload: 'far too long' })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
  });

  it('can be among the modules', async () => {
    const nest = await openContext({
      imports: [OutboxModule.forRoot({ ...quiet, modules: [OutboxMemoryModule] })],
    });
    expect(nest.get(MemoryOutboxStore)).toBe(nest.get(OutboxStore));
  });

  it('with a time-out other than stuckThreshold is rejected', async () => {
    const imports = [OutboxModule.forRoot({ store: new MemoryOutboxStore(), stuckThreshold: 60_000 })];
    await expect(openContext({ imports })).rejects.toThrow(
      'stuckThreshold is 60000, but the store was created with a claimTimeoutMs of 300000',
    );
  });
});

describe('publisher, or transport,', () => {
  const published: string[] = [];

  @Injectable()
  class Prefix {
    readonly value = 'kafka ';
  }

  @Injectable()
  class Broker extends OutboxPublisher {
    constructor(@Inject(Prefix) private readonly prefix: Prefix) {
      super();
    }

    async publish({ topic }: OutboxRow): Promise<void> {
      published.push(`${this.prefix.value}${topic}`);
    }
  }

  class BatchBroker extends Broker {
    override async publishBatch(rows: readonly OutboxRow[]): Promise<PublishResult[]> {
      published.push(`batch of ${rows.length}`);
      return rows.map(() => ({ status: 'fulfilled' }));
    }
  }

  const dispatchTwo = async (nest: MemoryNest): Promise<string[]> => {
    published.length = 0;
    await nest.emit({ topic: 'a', payload: 1 });
    await nest.emit({ topic: 'b', payload: 1 });
    expect(await nest.dispatch()).toMatchObject({ dispatched: 2 });
    return [...published];
  };

  it('can be a function, or an instance', async () => {
    const transport = async ({ topic }: OutboxRow): Promise<void> => {
      published.push(topic);
    };
    expect(await dispatchTwo(await MemoryNest.open([], { transport }))).toEqual(['a', 'b']);
    const publisher = new Broker(new Prefix());
    expect(await dispatchTwo(await MemoryNest.open([], { publisher }))).toEqual(['kafka a', 'kafka b']);
  });

  it('can be the class of a provider, with its dependencies', async () => {
    expect(await dispatchTwo(await MemoryNest.open([Prefix, Broker], { transport: Broker }))).toEqual([
      'kafka a',
      'kafka b',
    ]);
    expect(
      await dispatchTwo(await MemoryNest.open([Prefix, BatchBroker], { transport: BatchBroker })),
    ).toEqual(['batch of 2']);
  });

  it('that no module provides is rejected at the start', async () => {
    await expect(MemoryNest.open([], { transport: Broker })).rejects.toMatchObject({
      code: 'MISSING_BINDING',
      message: expect.stringContaining('no singleton provider for the class Broker'),
    });
  });

  it('can come from a module', async () => {
    const module = {
      name: 'Broker',
      provides: [{ provide: OutboxPublisher, useValue: new Broker(new Prefix()) }],
    };
    expect(await dispatchTwo(await MemoryNest.open([], { modules: [module] }))).toEqual([
      'kafka a',
      'kafka b',
    ]);
    expect(() =>
      OutboxModule.forRoot({ store: OutboxMemoryModule, modules: [module], transport: Broker }),
    ).toThrow('OutboxPublisher is bound twice');
  });
});

describe('forRoot rejects', () => {
  const store = OutboxMemoryModule;
  const prisma = class {} as unknown as Token<never>;

  it.each<[string, OutboxModuleOptions, string]>([
    ['no store', {}, 'there is no store'],
    ['two stores', { store, prisma }, 'prisma is shorthand for store'],
    ['a store that is a class', { store: MemoryOutboxStore as never }, 'store must be the module of a store'],
    ['a store that is none', { store: 5 as never }, 'store must be the module of a store'],
    ['a client that is none', { prisma: {} as never }, 'prisma must be a Prisma client'],
    ['two publishers', { store, transport: async () => {}, publisher: async () => {} }, 'pass one of them'],
    ['a publisher that is none', { store, publisher: {} as never }, 'publisher must be a function'],
    [
      'no tries',
      { store, retry: { maxRetries: 0 } },
      'retry.maxRetries must be a whole number from 1, got 0',
    ],
    ['endless tries', { store, retry: { maxRetries: Number.POSITIVE_INFINITY } }, 'retry.maxRetries'],
    [
      'a negative wait',
      { store, retry: { initialDelay: -1 } },
      'retry.initialDelay must be milliseconds from 0',
    ],
    [
      'an unknown backoff',
      { store, retry: { backoff: 'linear' as never } },
      `retry.backoff must be 'fixed' or`,
    ],
    ['an interval of 0', { store, polling: { interval: 0 } }, 'polling.interval must be milliseconds from 1'],
    ['an empty batch', { store, polling: { batchSize: 0 } }, 'polling.batchSize must be a whole number'],
    [
      'a threshold below the time of a handler',
      { store, stuckThreshold: 45_000 },
      'one and a half times publishTimeoutMs (30000)',
    ],
    ['a doubled binding', { store, modules: [CoreModule] }, 'is bound twice'],
  ])('%s', (_what, options, message) => {
    expect(() => OutboxModule.forRoot(options)).toThrow(message);
  });

  it('at the call, no options at all', () => {
    const message = 'OutboxModule: needs options: pass forRoot({ prisma: PrismaService }), for example';
    const given = undefined as unknown as OutboxModuleOptions;
    expect(() => OutboxModule.forRoot(given)).toThrow(refusal(message));
    const async = OutboxModule.forRootAsync as (options: unknown) => unknown;
    expect(() => async.call(OutboxModule, undefined)).toThrow(refusal('forRootAsync needs options'));
  });

  it('at the start, the module without its options', async () => {
    const message = 'OutboxModule: needs options: import OutboxModule.forRoot({ … }), or forRootAsync';
    await expect(openContext({ imports: [OutboxModule] })).rejects.toThrow(refusal(message));
    await expect(
      openContext({ imports: [OutboxModule.forCommands(nestModule({ imports: [OutboxModule] }))] }),
    ).rejects.toThrow(refusal(message));
  });

  it('at the start, a Prisma class that no module provides', async () => {
    class PrismaService {}
    const imports = [OutboxModule.forRoot({ prisma: PrismaService as unknown as Token<never> })];
    await expect(openContext({ imports })).rejects.toThrow(
      'no singleton provider for the class PrismaService',
    );
  });

  it('in the factory of store, anything but a store', async () => {
    const imports = [OutboxModule.forRoot({ store: (async () => {}) as never })];
    await expect(openContext({ imports })).rejects.toThrow(
      'must return a store that has enqueueWith, not a Promise',
    );
  });
});

describe('forRootAsync', () => {
  @Injectable()
  class Settings {
    readonly maxRetries = 7;
  }
  const settings = nestModule({ providers: [Settings], exports: [Settings] }, 'SettingsModule');

  it('takes its options from a factory with dependencies, beside those that Nest needs first', async () => {
    const marker = { name: 'Marker', provides: [{ provide: Marker, useFactory: () => new Marker() }] };
    const nest = await openContext({
      imports: [
        OutboxModule.forRootAsync({
          imports: [settings],
          inject: [Settings],
          useFactory: async ({ maxRetries }: Settings) => ({
            ...quiet,
            store: OutboxMemoryModule,
            retry: { maxRetries },
            modules: [{ name: 'Late', provides: [{ provide: Late, useFactory: () => new Late() }] }],
          }),
          modules: [marker],
          tokens: [MemoryOutboxStore],
        }),
      ],
    });
    const store = nest.get(MemoryOutboxStore);
    await store.transaction((tx) => nest.get(OutboxEmitter).emit(tx, { topic: 'a', payload: 1 }));
    expect((await store.peek({}, 1))[0]?.retry.maxAttempts).toBe(7);
    expect(nest.get(OutboxStore)).toBe(store);
    expect(nest.get(Marker)).toBeInstanceOf(Marker);
    expect(nest.get(OutboxWorker)).toBeInstanceOf(OutboxWorker);
    expect(() => nest.get(Late)).toThrow();
    expect(nest.get(OUTBOX_APP).get(Late)).toBeInstanceOf(Late);
  });

  it('takes its options from a class too', async () => {
    class Config {
      createOutboxOptions(): OutboxModuleOptions {
        return { ...quiet, store: OutboxMemoryModule };
      }
    }
    const nest = await openContext({ imports: [OutboxModule.forRootAsync({ useClass: Config })] });
    expect(nest.get(OutboxEmitter)).toBeInstanceOf(OutboxEmitter);
  });

  it('rejects invalid options of the factory as forRoot does', async () => {
    const imports = [OutboxModule.forRootAsync({ useFactory: () => ({}) })];
    await expect(openContext({ imports })).rejects.toThrow('there is no store');
    const missing = OutboxModule.forRootAsync({
      useFactory: () => ({ ...quiet, store: OutboxMemoryModule }),
      tokens: [PrismaOutboxStore],
    });
    await expect(openContext({ imports: [missing] })).rejects.toThrow('PrismaOutboxStore is not bound');
  });
});

class Marker {}
class Late {}

describe('isGlobal', () => {
  @Injectable()
  class Orders {
    constructor(@Inject(OutboxEmitter) readonly outbox: OutboxEmitter) {}
  }
  @Module({ providers: [Orders] })
  class OrdersModule {}

  it('is true by default: any module can inject the emitter', async () => {
    const outbox = OutboxModule.forRoot({ ...quiet, store: OutboxMemoryModule });
    const nest = await openContext({ imports: [outbox, OrdersModule] });
    expect(nest.get(Orders).outbox).toBe(nest.get(OutboxEmitter));
  });

  it('if false, limits it to modules that import it, with a factory too', async () => {
    const outbox = OutboxModule.forRootAsync({
      isGlobal: false,
      useFactory: () => ({ ...quiet, store: OutboxMemoryModule }),
    });
    await expect(openContext({ imports: [outbox, OrdersModule] })).rejects.toThrow(
      "can't resolve dependencies",
    );
  });
});

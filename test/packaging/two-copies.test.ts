import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Module, OutboxApp, OutboxInterceptor, OutboxRow } from '@postcommit/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { installPacked } from './packed-packages.js';

/** Both packages as one kind of module loads them; the store brings the core of its own kind. */
interface Copy {
  readonly core: typeof import('@postcommit/core');
  readonly internal: typeof import('@postcommit/core/internal');
  readonly memory: typeof import('@postcommit/store-memory');
}

const names = { core: '@postcommit/core', memory: '@postcommit/store-memory' };
const timeout = 60_000;

let folder: string;
let esm: Copy;
let cjs: Copy;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'postcommit-copies-')));
  await installPacked(folder, Object.values(names));
  const require = createRequire(join(folder, 'app.cjs'));
  cjs = {
    core: require(names.core),
    internal: require(`${names.core}/internal`),
    memory: require(names.memory),
  };
  esm = {
    core: await importFrom(names.core),
    internal: await importFrom(names.core, 'internal'),
    memory: await importFrom(names.memory),
  };
}, timeout);

afterAll(() => rm(folder, { recursive: true, force: true }));

it('ES modules and CommonJS in one process have classes of their own', () => {
  expect(esm.core.OutboxStore).not.toBe(cjs.core.OutboxStore);
  expect(esm.core.PermanentError).not.toBe(cjs.core.PermanentError);
  expect(esm.memory.MemoryOutboxStore).not.toBe(cjs.memory.MemoryOutboxStore);
  expect(new esm.memory.MemoryOutboxStore()).toBeInstanceOf(esm.core.OutboxStore);
  expect(new cjs.memory.MemoryOutboxStore()).toBeInstanceOf(cjs.core.OutboxStore);
  expect(new cjs.memory.MemoryOutboxStore()).not.toBeInstanceOf(esm.core.OutboxStore);
});

it.each([
  ['ES modules', () => esm],
  ['CommonJS', () => cjs],
])('both entries of the core have the same classes, in %s', (_kind, copyOf) => {
  const { core, internal } = copyOf();
  // Thrown by the internal entry, with the class of the public one.
  const check = (): void => internal.assertKnownOptions('example', { odd: 1 }, {} as never);
  expect(check).toThrow(core.OutboxError);
  expect(internal.tokenKey(core.OutboxStore)).toBe(Symbol.for('@postcommit/core/OutboxStore'));
});

describe.each([
  ['an ES module', 'CommonJS', () => ({ app: esm, store: cjs })],
  ['CommonJS', 'an ES module', () => ({ app: cjs, store: esm })],
])('a core from %s with a store from %s', (_app, _store, copies) => {
  let core: Copy['core'];
  let other: Copy;
  let published: OutboxRow[];

  beforeEach(() => {
    core = copies().app.core;
    other = copies().store;
    published = [];
  });

  function compose(...modules: Module[]): OutboxApp {
    const publisher = async (row: OutboxRow): Promise<void> => {
      published.push(row);
    };
    return core.composeModules([
      core.OutboxModule.forRoot({ publisher }),
      other.memory.OutboxMemoryModule,
      ...modules,
    ]);
  }

  it('share one store behind the tokens of both', () => {
    const app = compose();
    const store = app.get(core.OutboxStore);
    expect(store).toBeInstanceOf(other.memory.MemoryOutboxStore);
    expect(app.get(other.core.OutboxStore)).toBe(store);
    expect(app.get(copies().app.memory.MemoryOutboxStore)).toBe(store);
    expect(app.get(other.memory.MemoryOutboxStore)).toBe(store);
    expect(app.get(other.core.OutboxDispatcher)).toBe(app.get(core.OutboxDispatcher));
    expect(app.tokens.filter(({ name }) => name === 'OutboxStore')).toHaveLength(1);
  });

  it('reject two stores, even if each comes from another copy', () => {
    expect(() => compose(copies().app.memory.OutboxMemoryModule)).toThrow(
      expect.objectContaining({ code: 'DOUBLED_BINDING' }),
    );
  });

  it('publish what was enqueued, in a transaction and without', async () => {
    const app = compose();
    const store = app.get(other.memory.MemoryOutboxStore);
    const [single] = await store.enqueue({ topic: 'order.paid', payload: { id: 1 } });
    const [committed] = await store.transaction((tx) =>
      store.enqueueWith(tx, { topic: 'order.paid', payload: { id: 2 } }),
    );
    const rolledBack = store.begin();
    await store.enqueueWith(rolledBack, { topic: 'order.paid', payload: { id: 3 } });
    rolledBack.rollback();
    const summary = await app.get(core.OutboxDispatcher).dispatchPending();
    expect(summary).toEqual({ fetched: 2, dispatched: 2, failed: 0, dead: 0, fenced: 0 });
    expect(published.map(({ id }) => id)).toEqual([single, committed]);
    expect(published.map(({ payload }) => payload)).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await store.count()).toEqual({ pending: 0, dispatched: 2, dead: 0, total: 2 });
  });

  it('understand the errors of each other', async () => {
    const store = new other.memory.MemoryOutboxStore();
    const thrown = [
      new other.core.PermanentError('gone', { reason: 'undecodable' }),
      new other.core.TransientError('busy', 60_000),
    ];
    const dispatcher = new core.OutboxDispatcher(store, async () => {
      throw thrown.shift();
    });
    await store.enqueue(['permanent', 'transient'].map((id) => ({ id, topic: 'a', payload: 1 })));
    expect(await dispatcher.dispatchPending()).toMatchObject({ dead: 1, failed: 1 });
    const [dead] = await store.peek({ state: 'dead' }, 10);
    expect(dead).toMatchObject({ id: 'permanent', deadReason: 'undecodable', lastError: 'gone' });
    const [waiting] = await store.peek({ state: 'pending' }, 10);
    expect(waiting?.availableAt.getTime()).toBeGreaterThan(Date.now() + 50_000);
    expect(waiting).toMatchObject({ id: 'transient', attempts: 1 });
  });

  it('recognize an OutboxError of each other, and nothing else', async () => {
    const errors = [
      await rejection(new other.memory.MemoryOutboxStore().requeue('none')),
      await rejection(compose().get(other.core.OutboxStore).enqueue({ topic: '', payload: 1 })),
    ];
    for (const { isOutboxError } of [core, other.core]) {
      expect(errors.map((error) => isOutboxError(error) && error.code)).toEqual([
        'ROW_NOT_FOUND',
        'INVALID_ENTRY',
      ]);
      expect(isOutboxError(new other.core.PermanentError('gone'))).toBe(false);
    }
    expect(errors[0]).toBeInstanceOf(other.core.OutboxError);
    expect(errors[0]).not.toBeInstanceOf(core.OutboxError);
  });

  it('collect in one list what is contributed to the tokens of both', async () => {
    const seen: string[] = [];
    const interceptor = (name: string): OutboxInterceptor => ({
      enqueue: (entries, next) => {
        seen.push(`${name} enqueue`);
        return next(entries);
      },
      publish: (row, context, next) => {
        seen.push(`${name} publish`);
        return next(row, context);
      },
    });
    const contribute = (name: string, { contributeFactory, OutboxInterceptors }: Copy['core']): Module => ({
      name,
      contributes: [contributeFactory(OutboxInterceptors, [], () => interceptor(name))],
    });
    const app = compose(contribute('own', core), contribute('foreign', other.core));
    expect(app.get(core.OutboxInterceptors)).toBe(app.get(other.core.OutboxInterceptors));
    expect(app.get(core.OutboxInterceptors).items).toHaveLength(2);
    await app.get(core.OutboxStore).enqueue({ topic: 'a', payload: 1 });
    await app.get(core.OutboxDispatcher).dispatchPending();
    expect(seen).toEqual(['own enqueue', 'foreign enqueue', 'own publish', 'foreign publish']);
  });

  it('start and stop what modules of both contribute', async () => {
    const steps: string[] = [];
    const running = (name: string, { contributeFactory, Lifecycles }: Copy['core']): Module => ({
      name,
      contributes: [
        contributeFactory(Lifecycles, [], () => ({
          name,
          start: () => void steps.push(`start ${name}`),
          stop: () => void steps.push(`stop ${name}`),
        })),
      ],
    });
    const app = compose(running('own', core), running('foreign', other.core));
    await app.start();
    await app.stop();
    expect(steps).toEqual(['start own', 'start foreign', 'stop foreign', 'stop own']);
  });

  it('inject by the tokens of both, including optional ones', () => {
    class Service {
      static readonly inject = [
        core.OutboxStore,
        other.core.OutboxStore,
        other.core.EnqueuePipeline,
      ] as const;
      readonly given: unknown[];

      constructor(...given: unknown[]) {
        this.given = given;
      }
    }
    const app = compose({
      name: 'shop',
      provides: [
        { provide: Service, useClass: Service },
        other.core.provideFactory(
          Date,
          [other.core.optional(other.core.JobLock)],
          (lock) => new Date(lock ? 1 : 0),
        ),
      ],
    });
    const store = app.get(core.OutboxStore);
    expect(app.get(Service).given).toEqual([store, store, app.get(core.EnqueuePipeline)]);
    expect(app.get(Date)).toEqual(new Date(0));
  });

  it('reject a transaction of the other, which is on another table', async () => {
    const store = new (copies().app.memory.MemoryOutboxStore)();
    const foreign = new other.memory.MemoryOutboxStore().begin();
    const error = await rejection(store.enqueueWith(foreign, { topic: 'a', payload: 1 }));
    expect(error).toMatchObject({ code: 'INVALID_TRANSACTION' });
  });
});

/** As an ES module in the folder would import it. */
async function importFrom<T>(name: string, entry = 'index'): Promise<T> {
  return import(pathToFileURL(join(folder, 'node_modules', name, `dist/${entry}.js`)).href);
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

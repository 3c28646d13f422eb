import { memoryStore } from '@postcommit/store-memory';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type CreateOutboxOptions, createOutbox, type Outbox } from '../src/create-outbox.js';
import { OutboxDispatcher } from '../src/dispatch/outbox-dispatcher.js';
import { Lifecycles } from '../src/modules/lifecycle.js';
import { contributeFactory, type Module } from '../src/modules/module.js';
import { OutboxInterceptors } from '../src/observe/interceptors.js';
import type { OutboxPublisher } from '../src/publish/outbox-publisher.js';
import { OutboxRoutes, routePublisher } from '../src/publish/publisher-routes.js';
import { OutboxWorker } from '../src/worker/outbox-worker.js';
import { deferred, refusal } from './outbox-fixture.js';
import { Broker, problemsOf, refused, required } from './publish/broker-fixture.js';

const paid = { topic: 'order.paid', payload: 1 };
type MemoryOptions = Omit<CreateOutboxOptions<never, never>, 'store' | 'topics' | 'publisher'>;

// biome-ignore lint/complexity/noBannedTypes: no topic is declared.
function outboxWith(publisher: OutboxPublisher | undefined, options: MemoryOptions = {}): Outbox<never, {}> {
  const outbox = createOutbox({
    store: memoryStore(),
    ...(publisher && { publisher }),
    logger: false,
    backoff: { type: 'fixed', delayMs: 1 },
    ...options,
  });
  onTestFinished(() => outbox.stop({ graceMs: 0 }).catch(() => {}));
  return outbox as never;
}

/** A part of the application that notes when it starts and stops, or fails to. */
function part(name: string, steps: string[], start: () => void = () => {}): Module {
  const useValue = {
    name,
    start: () => {
      steps.push(`start ${name}`);
      start();
    },
    stop: () => void steps.push(`stop ${name}`),
  };
  return { name, contributes: [{ to: Lifecycles, useValue }] };
}

async function published(
  outbox: { enqueue(entry: typeof paid): Promise<unknown> },
  broker: Broker,
): Promise<void> {
  const before = broker.steps.length;
  await outbox.enqueue(paid);
  await vi.waitUntil(() => broker.steps.slice(before).includes('publish order.paid'));
}

describe('the publisher of an application', () => {
  test('starts before the first row, and stops after the worker has finished what was in flight', async () => {
    const broker = new Broker();
    const [begun, finished] = [deferred(), deferred()];
    broker.onPublish = async () => {
      begun.resolve();
      await finished.promise;
      broker.steps.push('published');
    };
    const outbox = outboxWith(broker);
    outbox.on('stopped', () => broker.steps.push('worker stopped'));
    await outbox.enqueue(paid);
    await outbox.start();
    await begun.promise;
    const stopping = outbox.stop();
    await new Promise(setImmediate);
    expect(broker.steps).toEqual(['start broker', 'check broker', 'publish order.paid']);
    finished.resolve();
    await stopping;
    expect(broker.steps.slice(3)).toEqual(['published', 'worker stopped', 'stop broker']);
    expect(await outbox.store.count()).toMatchObject({ pending: 0, dispatched: 1 });
  });

  test('stops after parts of other modules, wherever those are composed', async () => {
    const broker = new Broker();
    const outbox = outboxWith(broker, { modules: [part('scheduler', broker.steps)] });
    await outbox.start();
    await outbox.stop();
    expect(broker.steps).toEqual([
      'start broker',
      'check broker',
      'start scheduler',
      'stop scheduler',
      'stop broker',
    ]);
  });

  test('knows when rows come again after a crash', async () => {
    for (const takeoverAfterMs of [60_000, false] as const) {
      const broker = new Broker();
      const outbox = outboxWith(broker, { takeoverAfterMs });
      await outbox.start();
      const leastMs = takeoverAfterMs === false ? outbox.store.claimTimeoutMs : takeoverAfterMs;
      expect(broker.context?.redeliveryAfterMs).toBeGreaterThanOrEqual(leastMs);
      await outbox.stop();
    }
  });

  test('starts again after a stop, with the worker and with dispatchPending', async () => {
    const broker = new Broker();
    const outbox = outboxWith(broker);
    for (let run = 0; run < 2; run++) {
      await outbox.start();
      await published(outbox, broker);
      await outbox.stop();
    }
    await outbox.enqueue(paid);
    await outbox.dispatchPending();
    await outbox.stop();
    const lifeCycle = broker.steps.filter((step) => !step.startsWith('check'));
    expect(lifeCycle).toEqual(Array(3).fill(['start broker', 'publish order.paid', 'stop broker']).flat());
  });

  test('whose broker is away does not fail the start; its rows wait for it', async () => {
    const broker = new Broker();
    broker.onStart = () => Promise.reject(refused);
    broker.onPublish = () => Promise.reject(refused);
    const outbox = outboxWith(broker);
    const away = new Promise((resolve) => outbox.on('unavailable', resolve));
    const isBack = new Promise((resolve) => outbox.on('available', resolve));
    await outbox.start();
    const [id] = await outbox.enqueue(paid);
    await away;
    expect(broker.steps).not.toContain('check broker');
    const back = problemsOf({ on: outbox.on } as never);
    broker.onPublish = () => {};
    broker.problems = [required];
    await isBack;
    await vi.waitUntil(() => back.length > 0);
    expect(back).toEqual([{ publisher: 'broker', ...required }]);
    await vi.waitUntil(async () => (await outbox.store.count()).dispatched === 1);
    expect(await outbox.store.peek({}, 1)).toMatchObject([{ id, attempts: 0 }]);
  });

  test('that is configured wrong fails the start; everything that had started is stopped', async () => {
    const [good, wrong] = [new Broker('good'), new Broker('wrong')];
    wrong.problems = [required];
    const steps = good.steps;
    const resource: Module = {
      name: 'pool',
      contributes: [
        {
          to: Lifecycles,
          useValue: {
            name: 'pool',
            phase: 'resource',
            start: () => void steps.push('start pool'),
            stop: () => void steps.push('stop pool'),
          },
        },
      ],
    };
    const outbox = outboxWith(routePublisher({ a: good, b: wrong }), { modules: [resource] });
    await expect(outbox.start()).rejects.toThrow(refusal('INVALID_CONFIG', required.problem));
    expect(steps).toEqual(['start pool', 'start good', 'check good', 'stop pool', 'stop good']);
    expect(wrong.steps).toEqual(['start wrong', 'check wrong', 'stop wrong']);
    expect((await outbox.health()).status).toBe('stopped');
    wrong.problems = [];
    await outbox.start();
    expect((await outbox.health()).status).toBe('up');
  });

  test('is stopped when another part fails to start', async () => {
    const broker = new Broker();
    const failing = part('failing', broker.steps, () => {
      throw new Error('no port');
    });
    const outbox = outboxWith(broker, { modules: [failing] });
    await expect(outbox.start()).rejects.toThrow('no port');
    expect(broker.steps.slice(2)).toEqual(['start failing', 'stop broker']);
  });

  test('is stopped when another part fails to stop, and both errors are reported', async () => {
    const broker = new Broker();
    broker.onStop = () => Promise.reject(new Error('connection reset'));
    const failing: Module = {
      name: 'failing',
      contributes: [
        {
          to: Lifecycles,
          useValue: {
            name: 'failing',
            start: () => {},
            stop: () => Promise.reject(new Error('no answer')),
          },
        },
      ],
    };
    const outbox = outboxWith(broker, { modules: [failing] });
    await outbox.start();
    const error: unknown = await outbox.stop().catch((caught) => caught);
    expect(error).toHaveProperty('errors', [new Error('no answer'), new Error('connection reset')]);
  });

  test('whose start hangs does not keep a stop from ending', async () => {
    const broker = new Broker();
    const connected = deferred();
    broker.onStart = () => connected.promise;
    const outbox = outboxWith(broker);
    const starting = outbox.start().catch((error: unknown) => error);
    const stopping = outbox.stop({ graceMs: 20 }).catch((error: unknown) => error);
    expect(await Promise.all([starting, stopping])).toEqual([
      refusal('START_ABANDONED', 'OutboxPublisher had not started'),
      refusal('START_ABANDONED', 'OutboxPublisher had not started'),
    ]);
    expect(broker.steps).toEqual(['start broker', 'stop broker']);
    connected.resolve();
    await vi.waitUntil(() => broker.steps.filter((step) => step === 'stop broker').length === 2);
  });

  test('is not stopped under an application that was started again during the stop', async () => {
    const broker = new Broker();
    const stopped = deferred();
    const slow: Module = {
      name: 'slow',
      contributes: [
        {
          to: Lifecycles,
          useValue: { name: 'slow', phase: 'resource', start: () => {}, stop: () => stopped.promise },
        },
      ],
    };
    const outbox = outboxWith(broker, { modules: [slow] });
    await outbox.start();
    const stopping = outbox.stop();
    await vi.waitUntil(async () => (await outbox.health()).status === 'stopped');
    const starting = outbox.start();
    stopped.resolve();
    await Promise.all([stopping, starting]);
    await published(outbox, broker);
    expect(broker.steps).not.toContain('stop broker');
  });

  test('appears in the health of the outbox', async () => {
    const broker = new Broker();
    const outbox = outboxWith(routePublisher({ '*': broker }));
    expect(await outbox.health()).not.toHaveProperty('publishers');
    await outbox.start();
    const health = { name: 'broker', isConnected: false, problem: 'blocked: disk' };
    broker.health = () => health;
    expect((await outbox.health()).publishers).toEqual([health]);
    await outbox.stop();
    expect(await outbox.health()).not.toHaveProperty('publishers');
  });

  test('is not started where only resources are, or in a process that only enqueues', async () => {
    const broker = new Broker();
    const outbox = outboxWith(broker);
    await outbox.app.start({ only: 'resource' });
    const enqueuing = outboxWith(broker, { worker: false });
    await enqueuing.start();
    expect(broker.steps).toEqual([]);
  });
});

describe('publishers behind routes and interceptors', () => {
  test('start and stop, also in routes that modules contribute', async () => {
    const [inner, contributed] = [new Broker('inner'), new Broker('contributed')];
    const routes: Module = {
      name: 'routes',
      contributes: [
        contributeFactory(OutboxRoutes, [], () => ({
          name: 'mail',
          matches: ({ topic }: { topic: string }) => topic === 'mail',
          publisher: contributed,
        })),
      ],
    };
    const nested = routePublisher({ 'order.*': routePublisher({ '*': inner }), '*': inner });
    const outbox = outboxWith(nested, { modules: [routes] });
    await outbox.start();
    await outbox.enqueue({ topic: 'mail', payload: 1 });
    await published(outbox, inner);
    await vi.waitUntil(() => contributed.steps.length === 3);
    await outbox.stop();
    expect(inner.steps).toEqual(['start inner', 'check inner', 'publish order.paid', 'stop inner']);
    expect(contributed.steps).toEqual([
      'start contributed',
      'check contributed',
      'publish mail',
      'stop contributed',
    ]);
  });

  test('start before the interceptors see a row', async () => {
    const broker = new Broker();
    const interceptor = {
      publish: async (row: never, context: never, next: (...args: never[]) => Promise<void>) => {
        broker.steps.push('intercepted');
        await next(row, context);
      },
    };
    const module: Module = {
      name: 'interceptor',
      contributes: [{ to: OutboxInterceptors, useValue: interceptor as never }],
    };
    const outbox = outboxWith(broker, { modules: [module], worker: false });
    await outbox.enqueue(paid);
    await outbox.dispatchPending();
    await outbox.stop();
    expect(broker.steps).toEqual([
      'start broker',
      'check broker',
      'intercepted',
      'publish order.paid',
      'stop broker',
    ]);
  });
});

describe('dispatchPending() without start()', () => {
  test('starts the publisher once, before the first row; stop() stops it', async () => {
    const broker = new Broker();
    const outbox = outboxWith(broker);
    await outbox.enqueue([paid, paid]);
    const both = Promise.all([outbox.dispatchPending(1), outbox.dispatchPending(1)]);
    expect((await both).map(({ dispatched }) => dispatched)).toEqual([1, 1]);
    await outbox.dispatchPending();
    expect(broker.steps).toEqual([
      'start broker',
      'check broker',
      'publish order.paid',
      'publish order.paid',
    ]);
    await outbox.stop();
    await outbox.stop();
    expect(broker.steps.slice(4)).toEqual(['stop broker']);
  });

  test('shares the publisher with the worker', async () => {
    const broker = new Broker();
    const outbox = outboxWith(broker);
    await outbox.dispatchPending();
    await outbox.start();
    await published(outbox, broker);
    await outbox.dispatchPending();
    await outbox.stop();
    expect(broker.steps).toEqual(['start broker', 'check broker', 'publish order.paid', 'stop broker']);
  });

  test('claims nothing while the publisher is configured wrong', async () => {
    const broker = new Broker();
    broker.problems = [required];
    const outbox = outboxWith(broker);
    await outbox.enqueue(paid);
    await expect(outbox.dispatchPending()).rejects.toThrow(refusal('INVALID_CONFIG', required.problem));
    expect(await outbox.store.peek({}, 1)).toMatchObject([{ attempts: 0 }]);
    broker.problems = [];
    expect(await outbox.dispatchPending()).toMatchObject({ dispatched: 1 });
  });
});

describe('outside an application', () => {
  test('a dispatcher stops what it has started', async () => {
    const broker = new Broker();
    const { store } = outboxWith(undefined, { worker: false });
    const dispatcher = new OutboxDispatcher(store, broker);
    await dispatcher.stop();
    await store.enqueue(paid);
    await dispatcher.dispatchPending();
    await dispatcher.stop({ graceMs: 9 });
    expect(broker.steps).toEqual(['start broker', 'check broker', 'publish order.paid', 'stop broker']);
    await expect(dispatcher.stop({ graceMs: -1 })).rejects.toThrow(refusal('INVALID_ARGUMENT', 'graceMs'));
  });

  test('a worker does too, also when the publisher fails to stop', async () => {
    const broker = new Broker();
    broker.onStop = () => Promise.reject(new Error('connection reset'));
    const { store } = outboxWith(undefined, { worker: false });
    const worker = new OutboxWorker(store, broker);
    const stopped = vi.fn();
    worker.events.on('stopped', stopped);
    worker.start();
    await published({ enqueue: (entry) => store.enqueue(entry) }, broker);
    await expect(worker.stop()).rejects.toThrow('connection reset');
    expect(broker.steps.at(-1)).toBe('stop broker');
    expect(stopped).toHaveBeenCalledOnce();
  });
});

import { MemoryOutboxStore, MemoryTable, seededRandom } from '@postcommit/store-memory';
import { afterEach, describe, expect, test } from 'vitest';
import { MemoryOutboxPauses } from '../../../store-memory/src/memory-outbox-pauses.js';
import { MemoryOutboxWorkers } from '../../../store-memory/src/memory-outbox-workers.js';
import type { WorkerReport, WorkerSighting } from '../../src/store/outbox-workers.js';
import { OutboxWorker, type WorkerOptions } from '../../src/worker/outbox-worker.js';
import {
  CountingClock,
  deferred,
  entries,
  FaultyStore,
  listen,
  ManualPublisher,
  ManualWakeup,
} from '../outbox-fixture.js';

/** One process: a worker whose clock, store and calls about workers can be frozen, as by SIGSTOP or a cut network. */
class Host {
  readonly store: FaultyStore;
  readonly workers: FaultyWorkers;
  readonly publisher = new ManualPublisher();
  readonly worker: OutboxWorker;

  constructor(world: World, options: WorkerOptions) {
    this.store = new FaultyStore({ table: world.table }, world.clock);
    this.workers = new FaultyWorkers(world.table);
    this.worker = new OutboxWorker(this.store, this.publisher.publish, {
      clock: world.clock,
      workers: this.workers,
      batchSize: 10,
      concurrency: 10,
      ...options,
    });
  }

  /** The process dies: nothing that it asks has an effect any more. */
  kill(): void {
    this.isolate();
  }

  /** The process goes on, but the database does not hear of it. */
  isolate(): void {
    const never = () => new Promise<never>(() => {});
    for (const call of ['fetchPending', 'settle', 'extendClaim', 'lookAhead'] as const)
      this.store.before[call] = never;
    this.workers.before = never;
  }

  reconnect(): void {
    this.store.comeBack();
    this.workers.before = undefined;
  }
}

class FaultyWorkers extends MemoryOutboxWorkers {
  before: (() => Promise<void>) | undefined;
  readonly beats: number[] = [];
  readonly #clock: MemoryTable;

  constructor(table: MemoryTable) {
    super(table);
    this.#clock = table;
  }

  override async register(...args: Parameters<MemoryOutboxWorkers['register']>): Promise<void> {
    await this.before?.();
    return super.register(...args);
  }

  override async beat(id: string, report: WorkerReport): Promise<WorkerSighting[] | undefined> {
    this.beats.push(this.#clock.now());
    await this.before?.();
    return super.beat(id, report);
  }

  override async declareLost(id: string, lastSeen: string): Promise<boolean> {
    await this.before?.();
    return super.declareLost(id, lastSeen);
  }

  override async takeOver(id: string): Promise<number> {
    await this.before?.();
    return super.takeOver(id);
  }

  override async remove(id: string): Promise<void> {
    await this.before?.();
    return super.remove(id);
  }
}

class World {
  readonly clock = new CountingClock();
  readonly table = new MemoryTable(this.clock);
  readonly store = new MemoryOutboxStore({ table: this.table });
  readonly workers = new MemoryOutboxWorkers(this.table);
  readonly pauses = new MemoryOutboxPauses(this.table);
  readonly hosts: Host[] = [];

  host(options: WorkerOptions = {}): Host {
    const host = new Host(this, options);
    this.hosts.push(host);
    return host;
  }

  /** Runs until `isSo`, and returns how long that took. */
  async until(isSo: () => boolean, mostMs = 120_000): Promise<number> {
    const sinceMs = this.clock.monotonicMs();
    while (!isSo()) {
      if (this.clock.monotonicMs() - sinceMs > mostMs) throw new Error(`not so after ${mostMs} ms`);
      await this.clock.advance(50);
    }
    return this.clock.monotonicMs() - sinceMs;
  }
}

const worlds: World[] = [];

afterEach(async () => {
  for (const world of worlds.splice(0)) {
    for (const host of world.hosts) host.reconnect();
    const stopping = world.hosts.map(({ worker }) => worker.stop({ graceMs: 0 }));
    await world.clock.advance(60_000);
    await Promise.all(stopping);
    expect(world.clock.pendingTimers).toBe(0);
  }
});

function open(): World {
  const world = new World();
  worlds.push(world);
  return world;
}

/** A world in which `first` publishes x1 and A1, and `second` runs beside it. */
async function twoHosts(options: WorkerOptions = {}) {
  const world = open();
  const [first, second] = [world.host(options), world.host(options)];
  first.worker.start();
  await world.store.enqueue(entries('x1', 'A1', 'A2'));
  await world.clock.advance(100);
  expect(first.publisher.running).toEqual(['x1', 'A1']);
  second.worker.start();
  await world.clock.advance(10_000);
  return { ...world, world, first, second };
}

describe('a worker', () => {
  test('registers before it claims, says every five seconds that it is alive, and removes its record', async () => {
    const world = open();
    const { clock, workers } = world;
    const host = world.host();
    host.worker.start();
    await clock.advance(61_000);
    expect(host.workers.beats).toHaveLength(12);
    expect(await workers.list()).toEqual([
      expect.objectContaining({
        pid: process.pid,
        isListening: false,
        rowsInFlight: 0,
        takeoverMs: 35_000,
        isLost: false,
      }),
    ]);
    await host.worker.stop();
    expect(await workers.list()).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('claims under tokens that carry its name', async () => {
    const { workers, store } = await twoHosts();
    const claimed = await store.peek({ state: 'pending' }, 10);
    const ids = (await workers.list()).map(({ id }) => id);
    expect(claimed.map(({ claimToken }) => claimToken?.split('.')[0])).toEqual([ids[0], ids[0], ids[0]]);
  });

  test('with takeoverAfterMs: false neither registers nor takes over', async () => {
    const world = open();
    const { clock, workers } = world;
    const host = world.host({ takeoverAfterMs: false });
    host.worker.start();
    await clock.advance(60_000);
    expect(await workers.list()).toEqual([]);
  });

  test('leaves its record if publishes were abandoned, so that others take the rows over', async () => {
    const { clock, workers, first, second } = await twoHosts();
    const stopping = first.worker.stop({ graceMs: 100 });
    await clock.advance(6_000);
    expect(await stopping).toEqual(['x1', 'A1']);
    expect(await workers.list()).toHaveLength(2);
    await clock.advance(41_000);
    expect(await workers.list()).toHaveLength(1);
    second.publisher.succeed('x1');
    await clock.advance(100);
    expect(second.publisher.started).toEqual(['x1', 'A1']);
  });
});

describe('the rows of a worker that was killed', () => {
  test.each([0, 1_000, 2_500, 4_900])(
    'are published again within 45 s, %i ms after a heartbeat, in the order of their key',
    async (afterMs) => {
      const { clock, world, first, second } = await twoHosts();
      await clock.advance(afterMs);
      first.kill();
      const events = listen(second.worker.events, 'workerLost');
      const tookMs = await world.until(() => second.publisher.started.length > 0);
      expect(tookMs).toBeLessThanOrEqual(36_000);
      for (let step = 0; step < 3; step++) {
        for (const id of second.publisher.running) second.publisher.succeed(id);
        await clock.advance(100);
      }
      expect(second.publisher.started).toEqual(['x1', 'A1', 'A2']);
      expect(events).toEqual([
        { signal: 'workerLost', told: expect.objectContaining({ pid: process.pid, rows: 3 }) },
      ]);
    },
  );

  test('wait for one that starts after the whole fleet was killed', async () => {
    const { clock, world, first, second } = await twoHosts();
    first.kill();
    second.kill();
    await clock.advance(8_000);
    const third = world.host();
    third.worker.start();
    expect(await world.until(() => third.publisher.started.length > 0)).toBeLessThanOrEqual(36_000);
  });

  test('wait longer each time they are taken over, so that a host that flaps condemns none', async () => {
    const world = open();
    await world.store.enqueue(entries('x1'));
    const waits: number[] = [];
    for (let life = 0; life < 4; life++) {
      const host = world.host({ takeoverAfterMs: 30_000 });
      host.worker.start();
      waits.push(await world.until(() => host.publisher.started.length > 0, 400_000));
      host.kill();
    }
    expect(waits[0]).toBeLessThan(1_000);
    expect(waits[1]).toBeLessThanOrEqual(36_000);
    expect(waits[2]).toBeGreaterThan(69_000);
    expect(waits[3]).toBeGreaterThan(139_000);
  });
});

describe('a worker that the others have not heard of', () => {
  test('stops publishing before they take over, and its outcomes are fenced', async () => {
    const { clock, world, first, second } = await twoHosts();
    first.isolate();
    await world.until(() => first.publisher.contexts.get('x1')?.signal.aborted === true);
    expect(second.publisher.started).toEqual([]);
    await world.until(() => second.publisher.started.length > 0);
    for (const id of second.publisher.running) second.publisher.succeed(id);
    await clock.advance(1_000);
    const fenced = listen(first.worker.events, 'fenced', 'declaredLost');
    first.reconnect();
    await clock.advance(20_000);
    expect(first.publisher.started).toEqual(['x1', 'A1']);
    expect(fenced.map(({ signal }) => signal)).toContain('declaredLost');
  });

  test('continues under a new id', async () => {
    const { clock, workers, world, first, second } = await twoHosts();
    const before = (await workers.list()).map(({ id }) => id);
    first.isolate();
    await world.until(() => second.publisher.started.length > 0);
    first.reconnect();
    await clock.advance(10_000);
    const after = (await workers.list()).map(({ id }) => id);
    expect(after).toHaveLength(2);
    expect(after.filter((id) => before.includes(id))).toHaveLength(1);
  });

  test('claims nothing before a heartbeat is answered again', async () => {
    const { clock, store, first, second } = await twoHosts();
    first.workers.before = () => Promise.reject(new Error('no'));
    await clock.advance(36_000);
    const stopping = second.worker.stop({ graceMs: 0 });
    await clock.advance(6_000);
    await stopping;
    const claims = first.store.timesOf('fetchPending').length;
    await store.enqueue(entries('x9'));
    await clock.advance(20_000);
    expect(first.store.timesOf('fetchPending')).toHaveLength(claims);
    first.workers.before = undefined;
    await clock.advance(10_000);
    expect(first.publisher.started).toContain('x9');
  });
});

describe('a database that answers nobody', () => {
  test('for 40 s causes no takeover', async () => {
    const { clock, first, second } = await twoHosts();
    const events = [first, second].map(({ worker }) => listen(worker.events, 'workerLost', 'declaredLost'));
    for (const host of [first, second]) host.isolate();
    await clock.advance(40_000);
    for (const host of [first, second]) host.reconnect();
    await clock.advance(60_000);
    expect(events.flat()).toEqual([]);
  });
});

describe('a process that was suspended', () => {
  test('starts no publish before a heartbeat is answered', async () => {
    const { clock, first } = await twoHosts();
    // The wall clock ran on; the monotonic one did not.
    const now = clock.now.bind(clock);
    const answered = deferred();
    first.workers.before = () => answered.promise;
    clock.now = () => now() + 600_000;
    first.publisher.succeed('A1');
    await clock.advance(10);
    expect(first.publisher.started).toEqual(['x1', 'A1']);
    clock.now = now;
    answered.resolve();
  });
});

describe('a paused topic', () => {
  test('is not published from the first claim on, and is after it was resumed', async () => {
    const world = open();
    const { clock, pauses } = world;
    await pauses.pause('order.paid');
    const host = world.host();
    await world.store.enqueue([...entries('x1'), { id: 'other', topic: 'other', payload: 1 }]);
    host.worker.start();
    await clock.advance(10_000);
    host.publisher.succeed('other');
    await clock.advance(10_000);
    expect(host.publisher.started).toEqual(['other']);
    expect(await host.worker.health()).toMatchObject({ status: 'up', pausedTopics: ['order.paid'] });
    expect(await host.store.lookAhead()).toMatchObject({ pausedTopics: ['order.paid'] });
    await pauses.resume('order.paid');
    await clock.advance(2_000);
    expect(host.publisher.started).toEqual(['other', 'x1']);
    expect(await host.worker.health()).not.toHaveProperty('pausedTopics');
  });

  test('keeps rows that were claimed and not started, without an attempt', async () => {
    const world = open();
    const { clock, pauses, store } = world;
    const host = world.host({ concurrency: 1 });
    await store.enqueue(entries('x1', 'x2'));
    host.worker.start();
    await clock.advance(5_000);
    await pauses.pause('order.paid');
    await clock.advance(5_000);
    host.publisher.succeed('x1');
    await clock.advance(5_000);
    expect(host.publisher.started).toEqual(['x1']);
    const [row] = await store.peek({ state: 'pending' }, 10);
    expect(row).toMatchObject({ id: 'x2', attempts: 0 });
    expect(row).not.toHaveProperty('claimToken');
  });
});

describe('a crowd of workers', () => {
  test.each([
    ['that notifies at its commit', 'commit', 12],
    ['in a burst', 'burst', 120],
  ] as const)('leaves a message %s to a few of them', async (_when, kind, atMost) => {
    const world = open();
    const random = seededRandom(7);
    const hosts = Array.from({ length: 150 }, () => {
      const wakeup = new ManualWakeup();
      return { wakeup, host: world.host({ wakeup, random }) };
    });
    for (const { host } of hosts) host.worker.start();
    await world.clock.advance(12_000);
    const asked = () => hosts.reduce((sum, { host }) => sum + host.store.calls.length, 0);
    const atRest = asked();
    await world.clock.advance(1_000);
    const idle = asked() - atRest;
    expect(idle).toBeLessThanOrEqual(150 * 2);
    await world.store.enqueue(entries('x1'));
    const before = asked();
    for (const { wakeup } of hosts) wakeup.hint(kind);
    await world.clock.advance(1_000);
    const started = hosts.flatMap(({ host }) => host.publisher.started);
    expect(started).toEqual(['x1']);
    expect(asked() - before - idle).toBeLessThanOrEqual(atMost);
    const publishing = hosts.find(({ host }) => host.publisher.running.includes('x1'));
    publishing?.host.publisher.succeed('x1');
    await world.clock.advance(100);
  });
});

import type { JobContext, ScheduledJob } from '@postcommit/scheduler';
import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { JobRunner } from '../src/job-runner.js';
import { createGate } from './gate.js';
import { MemoryJobLock } from './memory-job-lock.js';
import { recordSignals, type Told } from './record-signals.js';

const PERIOD_MS = 1_000;
const TTL_MS = 30_000;

interface Instance {
  readonly runner: JobRunner;
  readonly told: Told[];
  /** The ticks that the job was run for, in ms since 1970. */
  readonly ran: number[];
  /** The tick that this instance's clock names now; its clock is behind by `skewMs`. */
  tick(skewMs?: number): Promise<void>;
}

class World {
  readonly clock = new VirtualClock();
  readonly lock = new MemoryJobLock(this.clock);
  readonly periodMs: number;

  constructor(periodMs = PERIOD_MS) {
    this.periodMs = periodMs;
  }

  instance(
    execute: (context: JobContext) => Promise<void> | void = () => {},
    options: { lockTtlMs?: number; lock?: MemoryJobLock | undefined } = {},
  ): Instance {
    const { events, told } = recordSignals();
    const ran: number[] = [];
    const job: ScheduledJob = {
      name: 'sweep',
      schedule: '* * * * * *',
      lockTtlMs: options.lockTtlMs ?? TTL_MS,
      execute: (context) => {
        ran.push(context.scheduledAt.getTime());
        return execute(context);
      },
    };
    const lock = 'lock' in options ? options.lock : this.lock;
    const runner = new JobRunner(job, { events, lock, clock: this.clock });
    return { runner, told, ran, tick: (skewMs = 0) => this.#tick(runner, skewMs) };
  }

  #tick(runner: JobRunner, skewMs: number): Promise<void> {
    const now = (): number => this.clock.now() - skewMs;
    const latest = (): number => Math.floor(now() / this.periodMs) * this.periodMs;
    const scheduledAt = new Date(latest());
    return runner.tick({
      scheduledAt,
      ageMs: () => now() - scheduledAt.getTime(),
      msToTickAfterNext: () => latest() + 2 * this.periodMs - now(),
    });
  }
}

describe('with several instances', () => {
  test('one runs a tick, even if the other arrives after a quick job has ended', async () => {
    const world = new World();
    const [one, two] = [world.instance(), world.instance()];
    await one.tick();
    await world.clock.advance(5);
    await two.tick();
    expect([one.ran.length, two.ran.length]).toEqual([1, 0]);
    expect(two.told).toMatchObject([{ signal: 'skipped', reason: 'locked', job: 'sweep' }]);
  });

  test('one runs each tick, even if the clock of the other is almost a period behind', async () => {
    const world = new World();
    const [one, two] = [world.instance(), world.instance()];
    for (let second = 0; second < 10; second++) {
      await one.tick();
      await world.clock.advance(900);
      await two.tick(900);
      await world.clock.advance(100);
    }
    expect(one.ran).toHaveLength(10);
    expect(two.ran).toEqual([]);
  });

  test('another takes over within two ticks when the running one disappears', async () => {
    const world = new World();
    const [one, two] = [world.instance(), world.instance()];
    await one.tick();
    for (let second = 0; second < 3; second++) {
      await world.clock.advance(PERIOD_MS);
      await two.tick();
    }
    expect(two.told).toMatchObject([{ reason: 'locked' }, { signal: 'finished' }, { signal: 'finished' }]);
    await one.tick();
    expect(one.told).toMatchObject([{ signal: 'finished' }, { signal: 'skipped', reason: 'locked' }]);
  });

  test('any may run an infrequent job: its lock is kept for its TTL and is free at the next tick', async () => {
    const world = new World(3_600_000);
    const [one, two] = [world.instance(), world.instance()];
    await one.tick();
    await world.clock.advance(TTL_MS - 1);
    await two.tick(TTL_MS - 1);
    expect(world.lock.isHeld('sweep')).toBe(true);
    await world.clock.advance(3_600_000 - TTL_MS + 1);
    expect(world.lock.isHeld('sweep')).toBe(false);
    await two.tick();
    await one.tick();
    expect([one.ran.length, two.ran.length]).toEqual([1, 1]);
    expect(new Set([...one.ran, ...two.ran]).size).toBe(2);
  });

  test('one that slept through a tick does not run it after the lock of the other has expired', async () => {
    const world = new World(3_600_000);
    const [one, two] = [world.instance(), world.instance()];
    await one.tick();
    await world.clock.advance(600_000);
    await two.tick();
    expect(two.ran).toEqual([]);
    expect(two.told).toMatchObject([{ signal: 'skipped', reason: 'late' }]);
  });

  test('each runs the job if there is no lock', async () => {
    const world = new World();
    const [one, two] = [
      world.instance(() => {}, { lock: undefined }),
      world.instance(() => {}, { lock: undefined }),
    ];
    await one.tick();
    await two.tick();
    expect([one.ran.length, two.ran.length]).toEqual([1, 1]);
  });
});

describe('the lock of a running job', () => {
  test('is renewed while the job runs', async () => {
    const world = new World();
    const gate = createGate();
    const one = world.instance(() => gate.passed);
    const two = world.instance();
    const running = one.tick();
    for (let minute = 0; minute < 10; minute++) {
      await world.clock.advance(60_000);
      await two.tick();
    }
    gate.open();
    await running;
    expect(one.told).toMatchObject([{ signal: 'finished', durationMs: 600_000 }]);
    expect(two.ran).toEqual([]);
  });

  test('aborts the job if another instance takes it', async () => {
    const world = new World();
    const seen = createGate();
    const one = world.instance(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      seen.open();
      signal.throwIfAborted();
    });
    const running = one.tick();
    await world.clock.advance(1);
    world.lock.steal('sweep');
    await world.clock.advance(TTL_MS / 3);
    await seen.passed;
    await running;
    expect(one.told).toMatchObject([
      { signal: 'lockLost', error: { message: 'the lock was lost: another instance took it' } },
      { signal: 'interrupted' },
    ]);
    // The thief's lock is not ours to keep.
    await world.clock.advance(PERIOD_MS);
    await one.tick();
    expect(one.told.at(-1)).toMatchObject({ signal: 'skipped', reason: 'locked' });
  });

  test('survives failed renewals if one succeeds in time', async () => {
    const world = new World();
    const gate = createGate();
    const one = world.instance(() => gate.passed);
    const running = one.tick();
    await world.clock.advance(1);
    for (let round = 0; round < 3; round++) {
      world.lock.outage = new Error('no route to host');
      await world.clock.advance(TTL_MS / 3);
      world.lock.outage = undefined;
      await world.clock.advance(TTL_MS / 3);
    }
    gate.open();
    await running;
    expect(one.told).toMatchObject([{ signal: 'finished' }]);
  });

  test('aborts the job before it expires in the database, if it can’t be renewed', async () => {
    const world = new World();
    let heldWhenAborted: boolean | undefined;
    const one = world.instance(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      heldWhenAborted = world.lock.isHeld('sweep');
    });
    const running = one.tick();
    await world.clock.advance(TTL_MS / 3);
    world.lock.outage = new Error('no route to host');
    await world.clock.advance(TTL_MS - 1);
    expect(one.told).toEqual([]);
    await world.clock.advance(1);
    await running;
    expect(heldWhenAborted).toBe(false);
    expect(one.told).toMatchObject([
      { signal: 'lockLost', error: { message: expect.stringMatching(/expired.*no route to host/) } },
      { signal: 'finished' },
    ]);
  });
});

describe('failures', () => {
  test.each([
    [
      'throws',
      () => {
        throw new Error('boom');
      },
    ],
    ['rejects', () => Promise.reject(new Error('boom'))],
  ])('a job that %s is reported, and runs again at the next tick', async (_how, execute) => {
    const world = new World();
    const one = world.instance(execute);
    await one.tick();
    await world.clock.advance(PERIOD_MS);
    await one.tick();
    expect(one.told).toMatchObject([
      { signal: 'failed', error: { message: 'boom' }, scheduledAt: new Date('2026-01-01T00:00:00Z') },
      { signal: 'failed', error: { message: 'boom' }, scheduledAt: new Date('2026-01-01T00:00:01Z') },
    ]);
  });

  test('a job does not run while its lock is unavailable, and runs when it is available again', async () => {
    const world = new World();
    const one = world.instance();
    world.lock.outage = new Error('connection refused');
    await one.tick();
    expect(one.ran).toEqual([]);
    expect(one.told).toMatchObject([{ signal: 'failed', error: { message: 'connection refused' } }]);
    world.lock.outage = undefined;
    await world.clock.advance(PERIOD_MS);
    await one.tick();
    expect(one.ran).toHaveLength(1);
  });

  test('a lock that can’t be kept after the run is reported, and requested again', async () => {
    const world = new World();
    const one = world.instance(() => {
      world.lock.outage = new Error('connection reset');
    });
    await one.tick();
    expect(one.told).toMatchObject([
      { signal: 'finished' },
      { signal: 'lockLost', error: { message: expect.stringContaining('connection reset') } },
    ]);
    world.lock.outage = undefined;
    await world.clock.advance(TTL_MS);
    await one.tick();
    expect(one.ran).toHaveLength(2);
  });

  test('a tick while the job is running is skipped', async () => {
    const world = new World();
    const gate = createGate();
    const one = world.instance(() => gate.passed, { lock: undefined });
    const running = one.tick();
    await world.clock.advance(PERIOD_MS);
    await one.tick();
    expect(one.told).toMatchObject([{ signal: 'skipped', reason: 'running' }]);
    gate.open();
    await running;
    await world.clock.advance(PERIOD_MS);
    await one.tick();
    expect(one.ran).toHaveLength(2);
  });

  test('a tick repeated after the clock was set back is not run again', async () => {
    const world = new World();
    const one = world.instance();
    await one.tick();
    await one.tick();
    expect(one.told).toMatchObject([{ signal: 'finished' }, { signal: 'skipped', reason: 'repeated' }]);
  });
});

describe('stop', () => {
  test('aborts the running job and waits for its end; the tick stays locked', async () => {
    const world = new World();
    const one = world.instance(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw new Error('gave up', { cause: signal.reason });
    });
    void one.tick();
    await world.clock.advance(1);
    await one.runner.stop(5_000);
    expect(one.runner.isRunning).toBe(false);
    expect(one.told).toMatchObject([
      { signal: 'interrupted', reason: { message: expect.stringContaining('the scheduler is stopping') } },
    ]);
    expect(world.lock.isHeld('sweep')).toBe(true);
    await world.clock.advance(2 * PERIOD_MS);
    expect(world.lock.isHeld('sweep')).toBe(false);
  });

  test('does not wait longer than its grace; the lock expires without a renewal', async () => {
    const world = new World();
    const gate = createGate();
    const one = world.instance(() => gate.passed);
    const running = one.tick();
    await world.clock.advance(1);
    const stopped = one.runner.stop(5_000);
    await world.clock.advance(5_000);
    await stopped;
    expect(one.told).toMatchObject([{ signal: 'abandoned', job: 'sweep' }]);
    expect(world.lock.isHeld('sweep')).toBe(true);
    await world.clock.advance(TTL_MS);
    expect(world.lock.isHeld('sweep')).toBe(false);
    gate.open();
    await running;
    expect(world.lock.isHeld('sweep')).toBe(false);
  });

  test('does not start a job whose lock is granted only after it', async () => {
    const world = new World();
    const one = world.instance();
    const running = one.tick();
    await one.runner.stop(5_000);
    await running;
    expect(one.ran).toEqual([]);
    expect(one.told).toMatchObject([{ signal: 'interrupted' }]);
  });

  test('is harmless if nothing is running', async () => {
    const one = new World().instance();
    await one.runner.stop(0);
    expect(one.told).toEqual([]);
  });
});

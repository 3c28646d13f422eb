import type { HeldLock } from '@postcommit/core/internal';
import { SqlJobLock } from '@postcommit/store-sql';
import { beforeEach, describe, expect, it } from 'vitest';
import { describeOnDatabases } from './test-databases.js';

const TTL_MS = 60_000;

describeOnDatabases((fixture) => {
  const newLock = (): SqlJobLock => new SqlJobLock(fixture.executor, { dialect: fixture.dialect });

  beforeEach(() => fixture.query('truncate table outbox_locks'));

  /** Lets the time to live run out by the database's clock. */
  async function expire(): Promise<void> {
    await fixture.query(`update outbox_locks set locked_until = ${fixture.now} - interval '1' second`);
  }

  async function acquired(name = 'job'): Promise<HeldLock> {
    const held = await newLock().acquire(name, TTL_MS);
    if (!held) throw new Error(`the lock ${name} is not free`);
    return held;
  }

  describe('SqlJobLock', () => {
    it('of several concurrent instances, one acquires the lock', async () => {
      const held = await Promise.all(Array.from({ length: 8 }, () => newLock().acquire('job', TTL_MS)));
      expect(held.filter((each) => each !== undefined)).toHaveLength(1);
    });

    it('of several concurrent instances that find an expired lock, one acquires it', async () => {
      await acquired();
      await expire();
      const held = await Promise.all(Array.from({ length: 8 }, () => newLock().acquire('job', TTL_MS)));
      expect(held.filter((each) => each !== undefined)).toHaveLength(1);
    });

    it('locks of different names are independent', async () => {
      await acquired('one');
      await acquired('two');
    });

    it('is not granted twice to the same instance', async () => {
      const lock = newLock();
      expect(await lock.acquire('job', TTL_MS)).toBeDefined();
      expect(await lock.acquire('job', TTL_MS)).toBeUndefined();
    });

    it('expires by the database’s clock', async () => {
      await acquired();
      const [record] = await fixture.query(`select locked_until, ${fixture.now} as now from outbox_locks`);
      const leftMs = Number(record?.locked_until) - Number(record?.now);
      expect(leftMs).toBeGreaterThan(TTL_MS - 10_000);
      expect(leftMs).toBeLessThanOrEqual(TTL_MS);
      expect(await newLock().acquire('job', TTL_MS)).toBeUndefined();
      await expire();
      expect(await newLock().acquire('job', TTL_MS)).toBeDefined();
    });

    it('is extended by a renewal', async () => {
      const held = await acquired();
      await expire();
      expect(await held.renew(TTL_MS), 'expired, but nobody took it').toBe(true);
      expect(await newLock().acquire('job', TTL_MS)).toBeUndefined();
    });

    it('can be neither renewed nor released by an instance that lost it', async () => {
      const loser = await acquired();
      await expire();
      const winner = await acquired();
      expect(await loser.renew(TTL_MS)).toBe(false);
      await loser.release();
      expect(await newLock().acquire('job', TTL_MS)).toBeUndefined();
      expect(await winner.renew(TTL_MS)).toBe(true);
    });

    it('is free at once after a release, and can’t be renewed', async () => {
      const held = await acquired();
      await held.release();
      expect(await held.renew(TTL_MS)).toBe(false);
      await acquired();
      await held.release();
      expect(await newLock().acquire('job', TTL_MS), 'a second release takes nobody’s lock').toBeUndefined();
    });
  });
});

import type { HeldLock } from '@postcommit/core';
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
    it('of several instances at once, one gets the lock', async () => {
      const held = await Promise.all(Array.from({ length: 8 }, () => newLock().acquire('job', TTL_MS)));
      expect(held.filter((each) => each !== undefined)).toHaveLength(1);
    });

    it('of several at once that find an expired lock, one gets it', async () => {
      await acquired();
      await expire();
      const held = await Promise.all(Array.from({ length: 8 }, () => newLock().acquire('job', TTL_MS)));
      expect(held.filter((each) => each !== undefined)).toHaveLength(1);
    });

    it('locks of different names have nothing to do with each other', async () => {
      await acquired('one');
      await acquired('two');
    });

    it('is not given twice to the same instance', async () => {
      const lock = newLock();
      expect(await lock.acquire('job', TTL_MS)).toBeDefined();
      expect(await lock.acquire('job', TTL_MS)).toBeUndefined();
    });

    it('lives for its time, by the database’s clock', async () => {
      await acquired();
      const [record] = await fixture.query(`select locked_until, ${fixture.now} as now from outbox_locks`);
      const leftMs = Number(record?.locked_until) - Number(record?.now);
      expect(leftMs).toBeGreaterThan(TTL_MS - 10_000);
      expect(leftMs).toBeLessThanOrEqual(TTL_MS);
      expect(await newLock().acquire('job', TTL_MS)).toBeUndefined();
      await expire();
      expect(await newLock().acquire('job', TTL_MS)).toBeDefined();
    });

    it('renewed, it lives on', async () => {
      const held = await acquired();
      await expire();
      expect(await held.renew(TTL_MS), 'expired, but nobody took it').toBe(true);
      expect(await newLock().acquire('job', TTL_MS)).toBeUndefined();
    });

    it('who lost it can neither renew nor release it', async () => {
      const loser = await acquired();
      await expire();
      const winner = await acquired();
      expect(await loser.renew(TTL_MS)).toBe(false);
      await loser.release();
      expect(await newLock().acquire('job', TTL_MS)).toBeUndefined();
      expect(await winner.renew(TTL_MS)).toBe(true);
    });

    it('released, it is free at once, and can’t be renewed', async () => {
      const held = await acquired();
      await held.release();
      expect(await held.renew(TTL_MS)).toBe(false);
      await acquired();
      await held.release();
      expect(await newLock().acquire('job', TTL_MS), 'a second release takes nobody’s lock').toBeUndefined();
    });
  });
});

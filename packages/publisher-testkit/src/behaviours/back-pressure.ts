import type { OutboxRow } from '@postcommit/core';
import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAllFulfilled } from '../expectations.js';
import { collectGarbage } from '../garbage.js';
import type { Scene } from '../scene.js';
import type { Sender } from '../sender.js';
import { idsOf } from '../test-rows.js';

const BATCH = 1_000;
const PAYLOAD = { text: 'x'.repeat(1_000) };

/** Publishes more than any buffer takes, two batches at a time. */
async function publishMany(
  scene: Scene,
  sender: Sender,
  count: number,
  watch: (row: OutboxRow) => void,
): Promise<void> {
  const publishOne = async (): Promise<void> => {
    const rows = scene.rows(BATCH, () => ({ payload: PAYLOAD }));
    for (const row of rows) watch(row);
    expectAllFulfilled(await sender.batch(rows), rows);
  };
  const lane = async (): Promise<void> => {
    for (let batches = 0; batches < count / BATCH / 2; batches++) await publishOne();
  };
  await Promise.all([lane(), lane()]);
}

export const backPressure: BehaviourGroup = {
  name: 'back-pressure',
  behaviours: {
    'thousands of rows arrive once each: a full buffer is not a failure': async (scene) => {
      const sender = await scene.connected();
      const count = sender.hasBatches ? 10_000 : 2_000;
      const ids: string[] = [];
      await publishMany(scene, sender, count, ({ id }) => ids.push(id));
      const expected = new Set(ids);
      const arrived = await scene.until(
        async () => {
          const received = idsOf(await scene.received(expected));
          return received.length >= count ? received : undefined;
        },
        () => `not all of ${count} rows arrived`,
      );
      expect(arrived).toHaveLength(count);
      expect(new Set(arrived).size).toBe(count);
    },

    'rows that were delivered are not kept': async (scene) => {
      const sender = await scene.connected();
      const kept: WeakRef<OutboxRow>[] = [];
      const count = 2_000;
      await publishMany(scene, sender, count, (row) => kept.push(new WeakRef(row)));
      const referred = (): number => kept.filter((row) => row.deref() !== undefined).length;
      await scene.until(
        () => {
          collectGarbage();
          return referred() < count / 10 || undefined;
        },
        () => `the publisher still refers to ${referred()} of ${count} rows that it has delivered`,
      );
    },
  },
};

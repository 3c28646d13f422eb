import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAllFulfilled } from '../expectations.js';
import { idsOf } from '../test-rows.js';

export const concurrency: BehaviourGroup = {
  name: 'concurrency',
  behaviours: {
    'rows that are published at the same time arrive once each': async (scene) => {
      const sender = await scene.connected();
      const rows = scene.rows(20);
      const results = await Promise.all(rows.map((row) => sender.publish(row)));
      expectAllFulfilled(results, rows);
      expect(idsOf(await scene.arrived(...rows)).sort()).toEqual(idsOf(rows).sort());
    },

    'batches that are published at the same time arrive once each': async (scene) => {
      const sender = await scene.connected();
      const batches = [1, 2, 3, 4, 5, 6, 7, 8].map((number) =>
        scene.rows(25, (index) => (index % 2 === 0 ? {} : { key: `key-${number}` })),
      );
      const results = await Promise.all(batches.map((rows) => sender.batch(rows)));
      const rows = batches.flat();
      expectAllFulfilled(results.flat(), rows);
      expect(idsOf(await scene.arrived(...rows)).sort()).toEqual(idsOf(rows).sort());
    },

    'rows that are published at the same time before the first connection arrive once each': async (
      scene,
    ) => {
      await scene.fixture.link.cut();
      const sender = await scene.startedAway();
      await scene.fixture.link.heal();
      // A publisher may wait a little before it connects again.
      await sender.deliver(scene.row());
      const rows = scene.rows(20);
      const results = await Promise.all(rows.map((row) => sender.publish(row)));
      expectAllFulfilled(results, rows);
      expect(idsOf(await scene.arrived(...rows)).sort()).toEqual(idsOf(rows).sort());
    },

    'one publish that fails does not fail others at the same time': async (scene) => {
      const sender = await scene.connected();
      const row = scene.row({ topic: scene.needs('refusingTopic') });
      const rows = scene.rows(10);
      const [refused, ...results] = await Promise.all([row, ...rows].map((one) => sender.publish(one)));
      expect(refused?.status).toBe('rejected');
      expectAllFulfilled(results, rows);
      await scene.arrived(...rows);
    },
  },
};

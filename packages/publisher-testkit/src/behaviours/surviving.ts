import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAllFulfilled, expectFulfilled } from '../expectations.js';
import { idsOf } from '../test-rows.js';

export const surviving: BehaviourGroup = {
  name: 'survives a broker restart',
  behaviours: {
    'what was confirmed is still there after the broker was killed': async (scene) => {
      const restart = scene.needs('restartBroker');
      const sender = await scene.connected();
      const rows = scene.rows(20, (index) => ({ key: `key-${index % 3}` }));
      expectFulfilled(await sender.publish(rows[0] ?? scene.row()), 'the first row');
      expectAllFulfilled(await sender.batch(rows.slice(1)), rows.slice(1));
      await restart();
      expect(new Set(idsOf(await scene.arrived(...rows)))).toEqual(new Set(idsOf(rows)));
    },

    'the same publisher goes on after the broker was killed': async (scene) => {
      const restart = scene.needs('restartBroker');
      const sender = await scene.connected();
      await restart();
      const row = scene.row();
      await sender.deliver(row);
      await scene.arrived(row);
    },

    'rows that were being sent while the broker was killed are delivered by their next try': async (
      scene,
    ) => {
      const restart = scene.needs('restartBroker');
      const sender = await scene.connected();
      const rows = scene.rows(50);
      const publishing = sender.batch(rows);
      await restart();
      const results = await publishing;
      const failed = rows.filter((_, index) => results[index]?.status === 'rejected');
      for (const row of failed) await sender.deliver(row);
      expect(new Set(idsOf(await scene.arrived(...rows)))).toEqual(new Set(idsOf(rows)));
    },
  },
};

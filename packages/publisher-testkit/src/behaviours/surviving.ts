import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAllFulfilled, expectFulfilled } from '../expectations.js';
import { idsOf } from '../test-rows.js';

export const surviving: BehaviourGroup = {
  name: 'survives a broker restart',
  behaviours: {
    'what was confirmed is there after the broker was killed, and the same publisher goes on': async (
      scene,
    ) => {
      const restart = scene.needs('restartBroker');
      const sender = await scene.connected();
      const [first, ...rows] = scene.rows(20, (index) => ({ key: `key-${index % 3}` }));
      if (!first) throw new Error('there are twenty rows');
      expectFulfilled(await sender.publish(first), 'the first row');
      expectAllFulfilled(await sender.batch(rows), rows);
      await restart();
      await scene.arrived(first, ...rows);
      const later = scene.row();
      await sender.deliver(later);
      await scene.arrived(later);
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

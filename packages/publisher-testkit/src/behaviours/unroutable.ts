import { errorText } from '@postcommit/core/internal';
import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectFulfilled, expectRejected } from '../expectations.js';

export const unroutable: BehaviourGroup = {
  name: 'unroutable',
  behaviours: {
    'a row that the broker has no destination for is rejected': async (scene) => {
      const topic = scene.needs('unroutableTopic');
      const sender = await scene.connected();
      expectRejected(await sender.publish(scene.row({ topic })), 'the unroutable row');
    },

    'the error names the destination': async (scene) => {
      const topic = scene.needs('unroutableTopic');
      const sender = await scene.connected();
      expect(errorText(expectRejected(await sender.publish(scene.row({ topic }))))).toContain(topic);
    },

    'an unroutable row of a batch does not fail its neighbours': async (scene) => {
      const topic = scene.needs('unroutableTopic');
      const sender = await scene.connected();
      const rows = scene.rows(5, (index) => (index === 2 ? { topic } : {}));
      const results = await sender.batch(rows);
      expectRejected(results[2], 'the unroutable row');
      for (const index of [0, 1, 3, 4]) expectFulfilled(results[index], `row ${index}`);
      await scene.arrived(...rows.filter((_, index) => index !== 2));
    },

    'a batch after an unroutable row is delivered': async (scene) => {
      const topic = scene.needs('unroutableTopic');
      const sender = await scene.connected();
      expectRejected(await sender.publish(scene.row({ topic })), 'the unroutable row');
      const rows = scene.rows(5);
      for (const row of rows) await sender.deliver(row);
      await scene.arrived(...rows);
    },
  },
};

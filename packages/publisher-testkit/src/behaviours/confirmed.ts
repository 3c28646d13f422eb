import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAway, expectFulfilled, expectRejected } from '../expectations.js';
import { quietTime } from '../waiting.js';

export const confirmed: BehaviourGroup = {
  name: 'confirmed',
  behaviours: {
    'a published row arrives': async (scene) => {
      const sender = await scene.started();
      const row = scene.row();
      expectFulfilled(await sender.publish(row));
      expect(await scene.arrived(row)).toHaveLength(1);
    },

    'publish resolves only after the broker has confirmed': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.holdAnswers();
      const row = scene.row();
      const attempt = sender.begin(row);
      await scene.arrived(row);
      await quietTime();
      const wasPending = attempt.isPending;
      await scene.fixture.link.heal();
      const result = await attempt.result();
      // On a slow machine, its own time limit may have ended it.
      if (!wasPending) expectAway(result, 'a row that was not confirmed');
      await sender.deliver(row);
    },

    'publishBatch resolves only after the broker has confirmed': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.holdAnswers();
      const row = scene.row();
      let results: readonly unknown[] | undefined;
      const publishing = sender.batch([row]).then((ended) => {
        results = ended;
        return ended;
      });
      await scene.arrived(row);
      await quietTime();
      const wasPending = results === undefined;
      await scene.fixture.link.heal();
      const [result] = await publishing;
      if (!wasPending) expectAway(result, 'a row that was not confirmed');
    },

    'publish rejects if the connection ends before the confirmation': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.holdAnswers();
      const row = scene.row();
      const attempt = sender.begin(row);
      await scene.arrived(row);
      await scene.fixture.link.cut();
      expectAway(await attempt.result());
    },

    'publishBatch rejects every row that was not confirmed before the connection ended': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.holdAnswers();
      const rows = scene.rows(5);
      const publishing = sender.batch(rows);
      await scene.arrived(...rows);
      await scene.fixture.link.cut();
      const results = await publishing;
      expect(results).toHaveLength(5);
      for (const result of results) expectAway(result);
    },

    'a row that the broker refuses is rejected': async (scene) => {
      const topic = scene.needs('refusingTopic');
      const sender = await scene.connected();
      expectRejected(await sender.publish(scene.row({ topic })));
    },

    'a row whose first try failed is delivered by the next': async (scene) => {
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      const row = scene.row();
      expectAway(await sender.publish(row));
      await scene.fixture.link.heal();
      await sender.deliver(row);
      await scene.arrived(row);
    },
  },
};

import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAllFulfilled, expectFulfilled, expectRejected } from '../expectations.js';
import { NotApplicable } from '../not-applicable.js';
import type { Scene } from '../scene.js';
import { idsOf, type RowFields } from '../test-rows.js';

/** What a row needs so that it is refused by itself, while others are delivered. */
export function refusedFields(scene: Scene): RowFields {
  const { refusingTopic, impossibleRows } = scene.fixture;
  if (refusingTopic !== undefined) return { topic: refusingTopic };
  const [impossible] = Object.values(impossibleRows?.(scene.row()) ?? {});
  if (!impossible) throw new NotApplicable("the fixture has neither a 'refusingTopic' nor 'impossibleRows'");
  const { topic, headers, payload } = impossible;
  return { topic, headers, payload };
}

export const batch: BehaviourGroup = {
  name: 'batch',
  behaviours: {
    'an empty batch has no results': async (scene) => {
      const sender = await scene.connected();
      expect(await sender.batch([])).toEqual([]);
    },

    'a batch of one row is delivered': async (scene) => {
      const sender = await scene.started();
      const row = scene.row();
      expectAllFulfilled(await sender.batch([row]), [row]);
      await scene.arrived(row);
    },

    'every row of a batch arrives once': async (scene) => {
      const sender = await scene.started();
      const rows = scene.rows(200, (index) => (index % 2 === 0 ? {} : { key: `key-${index % 7}` }));
      expectAllFulfilled(await sender.batch(rows), rows);
      expect(idsOf(await scene.arrived(...rows)).sort()).toEqual(idsOf(rows).sort());
    },

    'a refused row has its own result and does not fail its neighbours': async (scene) => {
      const refused = refusedFields(scene);
      const sender = await scene.connected();
      const rows = scene.rows(5, (index) => (index === 2 ? refused : {}));
      const results = await sender.batch(rows);
      expect(results).toHaveLength(5);
      expectRejected(results[2], 'the refused row');
      const others = rows.filter((_, index) => index !== 2);
      for (const index of [0, 1, 3, 4]) expectFulfilled(results[index], `row ${index}`);
      expect(await scene.arrived(...others)).toHaveLength(4);
    },

    'a batch of more bytes than the broker takes at once is split': async (scene) => {
      const { maxBodyBytes = 1_048_576 } = scene.fixture;
      const text = 'x'.repeat(Math.min(64_000, Math.floor(maxBodyBytes / 4)));
      const sender = await scene.started();
      const rows = scene.rows(64, () => ({ payload: { text } }));
      expectAllFulfilled(await sender.batch(rows), rows);
      expect(await scene.arrived(...rows)).toHaveLength(64);
    },

    'a batch takes far fewer round trips than it has rows': async (scene) => {
      const sender = await scene.connected();
      if (!sender.hasBatches) throw new NotApplicable('the publisher has no publishBatch');
      const before = scene.fixture.link.roundTrips;
      const rows = scene.rows(200);
      expectAllFulfilled(await sender.batch(rows), rows);
      expect(scene.fixture.link.roundTrips - before, 'round trips for 200 rows').toBeLessThan(100);
    },

    'the same id twice in a batch arrives': async (scene) => {
      const sender = await scene.started();
      const row = scene.row();
      expectAllFulfilled(await sender.batch([row, row]), [row, row]);
      expect((await scene.arrived(row)).length).toBeLessThanOrEqual(2);
    },
  },
};

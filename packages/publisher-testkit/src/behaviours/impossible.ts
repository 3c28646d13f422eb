import type { OutboxRow } from '@postcommit/core';
import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectFulfilled, expectPermanent } from '../expectations.js';
import { NotApplicable } from '../not-applicable.js';
import type { Scene } from '../scene.js';
import { idsOf } from '../test-rows.js';

/** Rows that the broker can't take, each with an id of its own. */
function impossibleRows(scene: Scene): ReadonlyArray<readonly [string, OutboxRow]> {
  const { impossibleRows: make, maxBodyBytes } = scene.fixture;
  const made = Object.entries(make?.(scene.row()) ?? {});
  const tooLarge =
    maxBodyBytes === undefined ? [] : [['too large', largeRow(scene, maxBodyBytes + 1)] as const];
  const all = [...made, ...tooLarge].map(([why, row]) => [why, { ...row, id: scene.row().id }] as const);
  if (all.length > 0) return all;
  throw new NotApplicable("the fixture has neither 'impossibleRows' nor 'maxBodyBytes'");
}

/** A row whose body has this many bytes. */
function largeRow(scene: Scene, bytes: number): OutboxRow {
  return scene.row({ payload: 'x'.repeat(bytes - 2) });
}

export const impossible: BehaviourGroup = {
  name: 'too large or impossible',
  behaviours: {
    'a row that the broker cannot take is refused for good': async (scene) => {
      const sender = await scene.connected();
      for (const [why, row] of impossibleRows(scene)) expectPermanent(await sender.publish(row), why);
    },

    'nothing of it is sent': async (scene) => {
      const sender = await scene.connected();
      const rows = impossibleRows(scene).map(([, row]) => row);
      for (const row of rows) await sender.publish(row);
      expect(await scene.arrivedAtLast(sender, rows)).toEqual([]);
    },

    'it is refused although the broker is away': async (scene) => {
      const sender = await scene.connected();
      const rows = scene.fixture.impossibleRows?.(scene.row());
      if (!rows) throw new NotApplicable("the fixture has no 'impossibleRows'");
      await scene.fixture.link.cut();
      for (const [why, row] of Object.entries(rows)) expectPermanent(await sender.publish(row), why);
    },

    'its neighbours in a batch are delivered': async (scene) => {
      const sender = await scene.connected();
      const bad = impossibleRows(scene);
      const good = scene.rows(bad.length + 1);
      const rows = good.flatMap((row, index) => [row, ...bad.slice(index, index + 1).map(([, one]) => one)]);
      const results = await sender.batch(rows);
      expect(results).toHaveLength(rows.length);
      const badIds = new Map(bad.map(([why, { id }]) => [id, why]));
      for (const [index, row] of rows.entries()) {
        const why = badIds.get(row.id);
        if (why === undefined) expectFulfilled(results[index], `row ${index}`);
        else expectPermanent(results[index], why);
      }
      expect(idsOf(await scene.arrived(...good)).sort()).toEqual(idsOf(good).sort());
    },

    'the largest body arrives': async (scene) => {
      const row = largeRow(scene, scene.needs('maxBodyBytes'));
      const sender = await scene.connected();
      expectFulfilled(await sender.publish(row), 'a row of maxBodyBytes');
      expect((await scene.message(row)).body.byteLength).toBe(scene.fixture.maxBodyBytes);
    },
  },
};

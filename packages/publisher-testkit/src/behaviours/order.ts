import type { OutboxRow } from '@postcommit/core';
import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAllFulfilled, expectFulfilled, expectRejected } from '../expectations.js';
import type { ReceivedMessage } from '../publisher-harness.js';
import type { Scene } from '../scene.js';
import type { Sender } from '../sender.js';
import { idsOf } from '../test-rows.js';
import { quietTime } from '../waiting.js';
import { refusedFields } from './batch.js';

/** The first arrival of each of these rows, in the order of the broker. A row may arrive again. */
function firstArrivals(messages: readonly ReceivedMessage[], rows: readonly OutboxRow[]): number[] {
  const numbers = new Map(idsOf(rows).map((id, index) => [id, index]));
  const arrived = messages.flatMap(({ id }) => numbers.get(id) ?? []);
  return [...new Set(arrived)];
}

function expectInOrder(messages: readonly ReceivedMessage[], rows: readonly OutboxRow[]): void {
  const expected = rows.map((_, index) => index);
  expect(firstArrivals(messages, rows), `the order of key ${rows[0]?.key}`).toEqual(expected);
}

/** Publishes rows of one key as the engine does: those behind a failed one wait for it. */
async function deliverInOrder(scene: Scene, sender: Sender, rows: readonly OutboxRow[]): Promise<void> {
  let waiting = rows;
  await scene.until(
    async () => {
      const results = await sender.batch(waiting);
      const failed = results.findIndex(({ status }) => status === 'rejected');
      if (failed === -1) return true;
      waiting = waiting.slice(failed);
      return undefined;
    },
    () => `${waiting.length} rows of a key were not delivered`,
  );
}

async function publishAll(scene: Scene, sender: Sender, rows: readonly OutboxRow[]): Promise<void> {
  expectAllFulfilled(await sender.batch(rows), rows);
  await scene.arrived(...rows);
}

export const order: BehaviourGroup = {
  name: 'order',
  behaviours: {
    'rows of one key arrive in the order of the batch, with their key': async (scene) => {
      scene.needsTrait('ordersByKey');
      const sender = await scene.started();
      const rows = scene.rows(60, (index) => ({ key: `key-${index % 3}` }));
      await publishAll(scene, sender, rows);
      const messages = await scene.arrived(...rows);
      for (const key of ['key-0', 'key-1', 'key-2'])
        expectInOrder(
          messages,
          rows.filter((row) => row.key === key),
        );
      const keys = new Map(rows.map((row) => [row.id, row.key]));
      for (const message of messages) expect(message.key).toBe(keys.get(message.id));
    },

    'rows of one key arrive in the order of several batches': async (scene) => {
      scene.needsTrait('ordersByKey');
      const sender = await scene.started();
      const rows = scene.rows(12, () => ({ key: 'account-7' }));
      for (const start of [0, 4, 8]) await publishAll(scene, sender, rows.slice(start, start + 4));
      expectInOrder(await scene.arrived(...rows), rows);
    },

    'rows behind a refused one of their key are not sent, other rows are': async (scene) => {
      scene.needsTrait('ordersByKey');
      const refused = refusedFields(scene);
      const sender = await scene.connected();
      const [first, failing, behind, last] = scene.rows(4, (index) => ({
        key: 'blocked',
        ...(index === 1 && refused),
      }));
      if (!first || !failing || !behind || !last) throw new Error('there are four rows');
      const others = scene.rows(3, () => ({ key: 'other' }));
      const rows = [first, failing, ...others, behind, last, scene.row()];
      const results = await sender.batch(rows);
      expect(results).toHaveLength(rows.length);
      for (const index of [0, 2, 3, 4, 7]) expectFulfilled(results[index], `row ${index}`);
      expectRejected(results[1], 'the refused row');
      expect(await scene.arrivedAtLast(sender, [failing, behind, last])).toEqual([]);
      expectRejected(results[5], 'a row behind the refused one');
      expectRejected(results[6], 'a row behind the refused one');
      await deliverInOrder(scene, sender, [behind, last]);
      expectInOrder(await scene.arrived(first, behind, last), [first, behind, last]);
    },

    'order holds when an answer is lost in the middle': async (scene) => {
      scene.needsTrait('ordersByKey');
      const sender = await scene.connected();
      const rows = scene.rows(20, () => ({ key: 'account-7' }));
      scene.fixture.link.loseNextAnswer();
      await deliverInOrder(scene, sender, rows);
      expectInOrder(await scene.arrived(...rows), rows);
    },

    'order holds when the connection is cut in the middle': async (scene) => {
      scene.needsTrait('ordersByKey');
      const { link } = scene.fixture;
      const sender = await scene.connected();
      const rows = scene.rows(20, () => ({ key: 'account-7' }));
      link.freeze();
      const publishing = deliverInOrder(scene, sender, rows);
      publishing.catch(() => {});
      await quietTime();
      // What was held back is lost with its connection.
      await link.cut();
      await link.heal();
      await publishing;
      expectInOrder(await scene.arrived(...rows), rows);
    },
  },
};

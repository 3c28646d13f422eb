import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAbsence, expectAway } from '../expectations.js';
import { collectGarbage } from '../garbage.js';
import type { Scene } from '../scene.js';
import type { Sender } from '../sender.js';
import { quietTime } from '../waiting.js';

/** Publishes a row until it gets through, on the same publisher. */
async function expectHealed(scene: Scene, sender: Sender): Promise<void> {
  await scene.fixture.link.heal();
  const row = scene.row();
  await sender.deliver(row);
  await scene.arrived(row);
}

async function expectBatchAway(scene: Scene, sender: Sender): Promise<void> {
  const results = await sender.batch(scene.rows(10, (index) => (index < 5 ? {} : { key: 'account-7' })));
  expect(results).toHaveLength(10);
  for (const [index, result] of results.entries()) expectAway(result, `row ${index}`);
}

export const away: BehaviourGroup = {
  name: 'away',
  behaviours: {
    'start succeeds, or says that the broker is away': async (scene) => {
      await scene.fixture.link.cut();
      const sender = scene.sender();
      await sender.start().catch((error: unknown) => expectAbsence(error, 'start'));
    },

    'a refused connection is an outage, and heals without a new publisher': async (scene) => {
      await scene.fixture.link.cut();
      const sender = await scene.startedAway();
      expectAway(await sender.publish(scene.row()));
      await expectHealed(scene, sender);
    },

    'a connection that is cut is an outage, and heals without a new publisher': async (scene) => {
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      expectAway(await sender.publish(scene.row()));
      await expectHealed(scene, sender);
    },

    'a broker that stops answering is an outage, and heals without a new publisher': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.freeze();
      const attempt = sender.begin(scene.row());
      await quietTime();
      // A time limit must survive this. AbortSignal.timeout() inside AbortSignal.any() does not in Node 20.
      collectGarbage();
      expectAway(await attempt.result());
      await expectHealed(scene, sender);
    },

    'a broker that does not answer a new connection is an outage, and heals without a new publisher': async (
      scene,
    ) => {
      scene.fixture.link.freeze();
      const sender = await scene.startedAway();
      expectAway(await sender.publish(scene.row()));
      await expectHealed(scene, sender);
    },

    'every row of a batch says that the broker is away': async (scene) => {
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      await expectBatchAway(scene, sender);
    },

    'every row of a batch says that the broker does not answer': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.freeze();
      await expectBatchAway(scene, sender);
    },

    'refused credentials are an outage: the row is not to blame': async (scene) => {
      const createPublisher = scene.needs('withWrongCredentials');
      const sender = await scene.startedAway(createPublisher());
      expectAway(await sender.publish(scene.row()));
      expect(await scene.fixture.received()).toEqual([]);
    },
  },
};

import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAway, expectFulfilled, expectRejected } from '../expectations.js';
import { NotApplicable } from '../not-applicable.js';
import type { Scene } from '../scene.js';
import { quietTime } from '../waiting.js';

async function expectDisconnected(scene: Scene): Promise<void> {
  const { link } = scene.fixture;
  await scene.until(
    () => link.connections === 0 || undefined,
    () => `${link.connections} connections are still open after stop`,
  );
}

/** Publishers under test wait for an answer for at least this time. */
const SHORTEST_TIMEOUT_MS = 1_000;

/** What keeps this process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

export const lifecycle: BehaviourGroup = {
  name: 'lifecycle',
  behaviours: {
    'starts, publishes and stops': async (scene) => {
      const sender = await scene.started();
      expectFulfilled(await sender.publish(scene.row()));
      await sender.stop();
    },

    'stops without having been started, and twice': async (scene) => {
      const sender = scene.sender();
      await sender.stop();
      await sender.start();
      await sender.stop();
      await sender.stop();
    },

    'start after stop works': async (scene) => {
      const sender = await scene.connected();
      await sender.stop();
      await sender.start();
      const row = scene.row();
      await sender.deliver(row);
      await scene.arrived(row);
    },

    'stop waits for the confirmation of what is being sent': async (scene) => {
      const sender = await scene.connected();
      // The worker has waited already. A publisher that has nothing to close need not wait again.
      if (!sender.publisher.stop) throw new NotApplicable('the publisher has no stop');
      scene.fixture.link.holdAnswers();
      const row = scene.row();
      const begun = performance.now();
      const attempt = sender.begin(row);
      await scene.arrived(row);
      let isStopped = false;
      const stopping = sender.stop(10_000).finally(() => {
        isStopped = true;
      });
      await quietTime();
      const wasWaiting = attempt.isPending && !isStopped;
      const tookMs = performance.now() - begun;
      await scene.fixture.link.heal();
      await stopping;
      const result = await attempt.result();
      // On a slow machine, its own time limit may have ended it.
      if (wasWaiting || tookMs < SHORTEST_TIMEOUT_MS) expectFulfilled(result, 'a row that was being sent');
      else expectAway(result);
    },

    'stop ends after its grace period, and so does what is being sent': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.freeze();
      const attempt = sender.begin(scene.row());
      await sender.stop(100);
      expectRejected(await attempt.result());
    },

    'stop ends while the broker is away': async (scene) => {
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      await sender.stop(100);
    },

    'no connection is open after stop': async (scene) => {
      const sender = await scene.connected();
      await sender.stop();
      await expectDisconnected(scene);
    },

    'no connection is opened after a stop during an outage': async (scene) => {
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      expectAway(await sender.publish(scene.row()));
      await sender.stop(100);
      await scene.fixture.link.heal();
      await quietTime();
      await expectDisconnected(scene);
    },

    'no timer keeps the process alive after stop': async (scene) => {
      const before = timers();
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      expectAway(await sender.publish(scene.row()));
      await sender.stop(100);
      await scene.until(
        () => timers() <= before || undefined,
        () => `${timers() - before} timers are still active after stop`,
      );
    },

    'a client that was handed in stays open': async (scene) => {
      const borrowed = await scene.needs('withBorrowedClient')();
      try {
        const sender = scene.sender(borrowed.publisher);
        await sender.start();
        const row = scene.row();
        expectFulfilled(await sender.publish(row));
        await scene.arrived(row);
        await sender.stop();
        expect(borrowed.isOpen()).toBe(true);
      } finally {
        await borrowed.close();
      }
    },
  },
};

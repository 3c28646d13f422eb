import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectRejected } from '../expectations.js';
import { idsOf } from '../test-rows.js';
import { quietTime } from '../waiting.js';

const GAVE_UP = 'the engine gave up';

function givenUp(): AbortSignal {
  return AbortSignal.abort(new Error(GAVE_UP));
}

export const bounded: BehaviourGroup = {
  name: 'bounded',
  behaviours: {
    'publish ends when its signal aborts': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.freeze();
      const giveUp = new AbortController();
      const attempt = sender.begin(scene.row(), { signal: giveUp.signal });
      giveUp.abort(new Error(GAVE_UP));
      expectRejected(await attempt.result());
    },

    'nothing is sent under a signal that has aborted': async (scene) => {
      const sender = await scene.connected();
      const [alone, ...rows] = scene.rows(4);
      if (!alone) throw new Error('there are four rows');
      expectRejected(await sender.publish(alone, { signal: givenUp() }));
      const results = await sender.batch(rows, { signal: givenUp() }).catch(() => []);
      for (const result of results) expectRejected(result);
      expect(await scene.arrivedAtLast(sender, [alone, ...rows])).toEqual([]);
    },

    'no ghost: a row that was given up while the broker was away never arrives': async (scene) => {
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      const giveUp = new AbortController();
      const [alone, ...rows] = scene.rows(4);
      if (!alone) throw new Error('there are four rows');
      const attempt = sender.begin(alone, { signal: giveUp.signal });
      const publishing = sender.batch(rows, { signal: giveUp.signal }).catch(() => []);
      await quietTime();
      giveUp.abort(new Error(GAVE_UP));
      expectRejected(await attempt.result());
      for (const result of await publishing) expectRejected(result);
      await scene.fixture.link.heal();
      expect(idsOf(await scene.arrivedAtLast(sender, [alone, ...rows]))).toEqual([]);
    },

    'no ghost: a row that was given up before the first connection never arrives': async (scene) => {
      await scene.fixture.link.cut();
      const sender = await scene.startedAway();
      const giveUp = new AbortController();
      const row = scene.row();
      const attempt = sender.begin(row, { signal: giveUp.signal });
      await quietTime();
      giveUp.abort(new Error(GAVE_UP));
      expectRejected(await attempt.result());
      await scene.fixture.link.heal();
      expect(await scene.arrivedAtLast(sender, [row])).toEqual([]);
    },

    'no ghost: after the signal aborts, only what was on the wire arrives': async (scene) => {
      const { link } = scene.fixture;
      const sender = await scene.connected();
      const giveUp = new AbortController();
      const rows = scene.rows(6, () => ({ key: 'account-7' }));
      link.holdAnswers();
      const publishing = sender.batch(rows, { signal: giveUp.signal }).catch(() => []);
      await scene.arrived(...rows.slice(0, 1));
      await quietTime();
      const onTheWire = idsOf(await scene.received(new Set(idsOf(rows))));
      giveUp.abort(new Error(GAVE_UP));
      await link.heal();
      await publishing;
      expect(idsOf(await scene.arrivedAtLast(sender, rows))).toEqual(onTheWire);
    },

    'no ghost: a row that was given up while the broker did not answer arrives at most once': async (
      scene,
    ) => {
      const sender = await scene.connected();
      scene.fixture.link.freeze();
      const giveUp = new AbortController();
      const row = scene.row();
      const attempt = sender.begin(row, { signal: giveUp.signal });
      await quietTime();
      giveUp.abort(new Error(GAVE_UP));
      expectRejected(await attempt.result());
      await scene.fixture.link.heal();
      expect((await scene.arrivedAtLast(sender, [row])).length).toBeLessThanOrEqual(1);
    },
  },
};

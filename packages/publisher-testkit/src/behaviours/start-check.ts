import { errorText } from '@postcommit/core/internal';
import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAbsence } from '../expectations.js';

export const startCheck: BehaviourGroup = {
  name: 'start check',
  behaviours: {
    'finds nothing that must be fixed at a sound broker, and sends nothing': async (scene) => {
      const sender = await scene.started();
      const required = (await sender.check()).filter(({ level }) => level === 'required');
      expect(required).toEqual([]);
      expect(await scene.fixture.received()).toEqual([]);
    },

    'reports settings under which a confirmation is not true': async (scene) => {
      const publishers = await scene.needs('untruthful')();
      for (const [what, publisher] of Object.entries(publishers)) {
        const sender = scene.sender(publisher);
        await sender.start();
        const problems = await sender.check();
        expect(problems.length, `${what}: problems that check reports`).toBeGreaterThan(0);
        for (const problem of problems) {
          expect(problem.problem.length, `${what}: the problem`).toBeGreaterThan(0);
          expect(problem.fix.length, `${what}: how to fix it`).toBeGreaterThan(0);
        }
      }
    },

    'has no secrets in what it reports': async (scene) => {
      const publishers = await scene.needs('untruthful')();
      for (const [what, publisher] of Object.entries(publishers)) {
        const sender = scene.sender(publisher);
        await sender.start();
        const text = JSON.stringify(await sender.check());
        for (const secret of scene.fixture.secrets) expect(text.includes(secret), what).toBe(false);
      }
    },

    'says that the broker is away, if it is': async (scene) => {
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      const error: unknown = await sender.check().then(
        () => undefined,
        (reason) => reason,
      );
      if (error !== undefined) expectAbsence(error, `check: ${errorText(error)}`);
    },
  },
};

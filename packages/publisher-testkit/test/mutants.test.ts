import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../src/behaviour.js';
import { behaviourGroups } from '../src/behaviour-groups.js';
import { runBehaviour } from '../src/describe-outbox-publisher.js';
import type { PublisherHarness } from '../src/index.js';
import { NotApplicable } from '../src/not-applicable.js';
import { batchMutants } from './mutants/batch-mutants.js';
import { confirmationMutants } from './mutants/confirmation-mutants.js';
import { contentMutants } from './mutants/content-mutants.js';
import { lifecycleMutants } from './mutants/lifecycle-mutants.js';
import { outageMutants } from './mutants/outage-mutants.js';
import { refusalMutants } from './mutants/refusal-mutants.js';
import { toyHarness } from './toy-harness.js';

const mutants = [
  ...confirmationMutants,
  ...outageMutants,
  ...batchMutants,
  ...contentMutants,
  ...refusalMutants,
  ...lifecycleMutants,
];
const behaviours = new Map<string, Behaviour>(
  behaviourGroups.flatMap((group) => Object.entries(group.behaviours)),
);

/** Behaviours that other tests in the same process would disturb. */
const LOOKS_AT_THE_PROCESS: ReadonlySet<string> = new Set([
  'no timer keeps the process alive after stop',
  'rows that were delivered are not kept',
]);
/** A broken publisher may hang. Longer than the time-outs of the toy publisher. */
const PATIENCE_MS = 3_000;

/** Whether a publisher fails a behaviour. Throws if it can't be tested with this harness. */
async function fails(sentence: string, harness: PublisherHarness): Promise<boolean> {
  const behaviour = behaviours.get(sentence);
  if (!behaviour) throw new Error(`there is no behaviour '${sentence}'`);
  try {
    await runBehaviour(behaviour, harness);
    return false;
  } catch (error) {
    if (error instanceof NotApplicable) throw error;
    return true;
  }
}

describe('the testkit itself', () => {
  it('has no two behaviours of the same name', () => {
    const sentences = behaviourGroups.flatMap((group) => Object.keys(group.behaviours));
    expect(behaviours.size).toBe(sentences.length);
  });

  it('has a broken publisher for every behaviour', () => {
    const caught = new Set(mutants.flatMap(({ caughtBy }) => caughtBy));
    expect([...behaviours.keys()].filter((sentence) => !caught.has(sentence))).toEqual([]);
  });

  for (const { defect, caughtBy, Publisher, settings } of mutants) {
    for (const sentence of caughtBy) {
      const register = LOOKS_AT_THE_PROCESS.has(sentence) ? it : it.concurrent;
      register(`catches a publisher that ${defect}, by: ${sentence}`, { timeout: 60_000 }, async () => {
        expect(await fails(sentence, toyHarness(Publisher, settings, PATIENCE_MS))).toBe(true);
      });
    }
  }
});

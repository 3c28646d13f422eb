import { describe, it } from 'vitest';
import type { Behaviour } from './behaviour.js';
import { behaviourGroups } from './behaviour-groups.js';
import { NotApplicable } from './not-applicable.js';
import type { PublisherHarness } from './publisher-harness.js';
import { Scene } from './scene.js';

/** Only for what hangs. Every wait of a behaviour is shorter. */
const TEST_TIMEOUT_MS = 120_000;

/**
 * Registers a vitest test for each behaviour that a publisher must have. What the fixture has no means for, such as a
 * topic that the broker has no destination for, is skipped with a reason.
 *
 * @example
 * describeOutboxPublisher('myPublisher', { traits, open: () => openDestination(url) });
 */
export function describeOutboxPublisher(name: string, harness: PublisherHarness): void {
  const skipped = skipsOf(harness);
  describe(name, () => {
    for (const group of behaviourGroups) {
      describe(group.name, () => {
        for (const [sentence, behaviour] of Object.entries(group.behaviours)) {
          const reason = skipped.get(sentence) ?? skipped.get(group.name);
          it(sentence, { timeout: TEST_TIMEOUT_MS }, async (context) => {
            const skip = reason ?? (await reasonToSkip(behaviour, harness));
            if (skip !== undefined) context.skip(skip);
          });
        }
      });
    }
  });
}

/** Runs a behaviour. Returns why it could not be tested. */
async function reasonToSkip(behaviour: Behaviour, harness: PublisherHarness): Promise<string | undefined> {
  try {
    await runBehaviour(behaviour, harness);
    return undefined;
  } catch (error) {
    if (error instanceof NotApplicable) return error.message;
    throw error;
  }
}

/** Runs a behaviour on a destination of its own. Throws if the publisher fails it. */
export async function runBehaviour(behaviour: Behaviour, harness: PublisherHarness): Promise<void> {
  const scene = new Scene(await harness.open(), harness);
  try {
    await behaviour(scene);
  } finally {
    await scene.close();
  }
}

/** A skip that names nothing would hide that a behaviour was renamed. */
function skipsOf({ skip = [] }: PublisherHarness): ReadonlyMap<string, string> {
  const names = new Set(behaviourGroups.flatMap((group) => [group.name, ...Object.keys(group.behaviours)]));
  for (const { name } of skip) {
    if (!names.has(name)) throw new Error(`there is no behaviour or group '${name}' to skip`);
  }
  return new Map(skip.map(({ name, reason }) => [name, reason]));
}

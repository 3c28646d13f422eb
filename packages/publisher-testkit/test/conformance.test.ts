import { expect, it } from 'vitest';
import { identity } from '../src/behaviours/identity.js';
import { runBehaviour } from '../src/describe-outbox-publisher.js';
import { describeOutboxPublisher } from '../src/index.js';
import { toyHarness } from './toy-harness.js';

describeOutboxPublisher('the reference publisher', toyHarness());

it('the reference publisher lets a broker drop duplicates', async () => {
  const dedupes = toyHarness(undefined, { dedupes: true });
  for (const [sentence, behaviour] of Object.entries(identity.behaviours)) {
    await expect(runBehaviour(behaviour, dedupes), sentence).resolves.toBeUndefined();
  }
});

it('a skip that names nothing is refused', () => {
  const skip = [{ name: 'no such behaviour', reason: 'it was renamed' }];
  expect(() => describeOutboxPublisher('x', { ...toyHarness(), skip })).toThrow("'no such behaviour'");
});

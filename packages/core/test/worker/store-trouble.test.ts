import { type DispatchEventMap, DispatchEvents } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { expect, test } from 'vitest';
import { StoreTrouble } from '../../src/worker/claim-pace.js';

/** Counts fractions of milliseconds, as the clock of a process does. */
class ExactClock extends VirtualClock {
  override monotonicMs(): number {
    return super.monotonicMs() * 1.000_123 + 0.329_698_99;
  }
}

test('reports whole milliseconds, for logs and health checks', async () => {
  const clock = new ExactClock();
  const events = new DispatchEvents();
  const recovered: DispatchEventMap['recovered'][] = [];
  events.on('recovered', (told) => recovered.push(told));
  const trouble = new StoreTrouble(events, clock, () => 0.123);
  expect(Number.isInteger(trouble.failed(new Error('away')))).toBe(true);
  await clock.advance(9_007);
  trouble.answered();
  expect(recovered).toEqual([{ afterMs: 9_008 }]);
  await clock.advance(58_001);
  expect(trouble.lastAnswerAgeMs).toBe(58_008);
});

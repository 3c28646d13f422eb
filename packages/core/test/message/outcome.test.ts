import { expect, test } from 'vitest';
import { isDeadReason } from '../../src/message/dead-reason.js';
import { attemptsOf } from '../../src/message/outcome.js';

test('only a failed publish counts as an attempt', () => {
  const dead = { id: 'a', kind: 'dead', error: 'x', reason: 'exhausted' } as const;
  expect(attemptsOf({ id: 'a', kind: 'failed', error: 'x', delayMs: 0 })).toBe(1);
  expect(attemptsOf(dead)).toBe(1);
  expect(attemptsOf({ ...dead, untried: true })).toBe(0);
  expect(attemptsOf({ id: 'a', kind: 'dispatched' })).toBe(0);
  expect(attemptsOf({ id: 'a', kind: 'released' })).toBe(0);
});

test('the dead reasons are a closed list', () => {
  const reasons = ['exhausted', 'permanent', 'crashed', 'no-listener', 'undecodable', 'cancelled'];
  expect(reasons.filter(isDeadReason)).toEqual(reasons);
  for (const other of ['bored', '', undefined, null, 5]) expect(isDeadReason(other)).toBe(false);
});

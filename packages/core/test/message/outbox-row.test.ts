import { expect, test } from 'vitest';
import { stateOf } from '../../src/message/outbox-row.js';

test('a row is pending, dispatched or dead', () => {
  const at = new Date();
  expect(stateOf({})).toBe('pending');
  expect(stateOf({ dispatchedAt: at })).toBe('dispatched');
  expect(stateOf({ deadAt: at })).toBe('dead');
});

import { expect, it } from 'vitest';
import { seededRandom } from '../src/random.js';
import { FAULT_NAMES, sequenceOf } from '../src/scenarios/mix.js';

it('a seed replays its sequence of faults, and another seed has a different one', () => {
  const sequence = sequenceOf(seededRandom(7), 40);
  expect(sequenceOf(seededRandom(7), 40)).toEqual(sequence);
  expect(sequenceOf(seededRandom(8), 40)).not.toEqual(sequence);
});

it('every fault occurs once before any is repeated', () => {
  const sequence = sequenceOf(seededRandom(7), FAULT_NAMES.length).map(({ fault }) => fault);
  expect([...sequence].sort()).toEqual([...FAULT_NAMES].sort());
});

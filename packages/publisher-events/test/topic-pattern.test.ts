import { routePublisher } from '@postcommit/core';
import { onEvent } from '@postcommit/publisher-events';
import { seededRandom } from '@postcommit/store-memory';
import { expect, test } from 'vitest';
import { rowWith } from './events-fixture.js';

class Message {
  readonly topic: string;

  constructor(topic: string) {
    this.topic = topic;
  }
}

function isHeard(topic: string, pattern: string): boolean {
  return onEvent(Message, () => {}, { name: 'a', topic: pattern }).accepts(new Message(topic));
}

test.each([
  ['order.paid', 'order.paid', true],
  ['order.paid', 'order.paid.twice', false],
  ['order.*', 'order.paid', true],
  ['order.*', 'order.', true],
  ['order.*', 'orders.paid', false],
  ['order.*', 'an order.paid', false],
  ['*.paid', 'order.paid', true],
  ['*.paid', 'order.paid.', false],
  ['*', 'anything at all', true],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'a1b2c', true],
  ['a*b*c', 'acb', false],
  ['*ab*ab', 'ab', false],
  ['order?paid', 'order.paid', false],
  ['.*', 'order', false],
])("the pattern '%s' matches '%s': %s", (pattern, topic, expected) => {
  expect(isHeard(topic, pattern)).toBe(expected);
});

test('patterns mean the same as in routePublisher', async () => {
  const random = seededRandom(7);
  const word = (letters: string): string =>
    Array.from(
      { length: 1 + Math.floor(random() * 6) },
      () => letters[Math.floor(random() * letters.length)],
    ).join('');
  const context = { attempt: 1, signal: new AbortController().signal };
  const seen = { heard: 0, unheard: 0 };
  for (let round = 0; round < 3_000; round += 1) {
    const [pattern, topic] = [word('ab**'), word('ab')];
    const isRouted = await routePublisher({ [pattern]: async () => {} })
      .publish(rowWith({ topic }), context)
      .then(
        () => true,
        () => false,
      );
    expect(isHeard(topic, pattern), `${pattern} ${topic}`).toBe(isRouted);
    seen[isRouted ? 'heard' : 'unheard'] += 1;
  }
  expect(Math.min(seen.heard, seen.unheard)).toBeGreaterThan(500);
});

test('a pattern with many stars is fast on a long topic', () => {
  expect(isHeard(`${'a'.repeat(250)}!`, '*a'.repeat(100))).toBe(false);
});

test('an event without a topic matches no pattern', () => {
  const { accepts } = onEvent(Message, () => {}, { name: 'a', topic: '*' });
  expect(accepts({} as Message)).toBe(false);
});

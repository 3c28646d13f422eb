import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PermanentError } from '../../src/message/errors.js';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { PublishContext } from '../../src/message/publish-context.js';
import { OutboxPublisher } from '../../src/publish/outbox-publisher.js';
import { RoutedPublisher, routePublisher } from '../../src/publish/publisher-routes.js';
import { refusal, rowWith } from '../outbox-fixture.js';

const context: PublishContext = { attempt: 1, signal: new AbortController().signal };

async function matches(pattern: string, topic: string): Promise<boolean> {
  try {
    await routePublisher({ [pattern]: async () => {} }).publish(rowWith({ topic }), context);
    return true;
  } catch (error) {
    if (error instanceof PermanentError) return false;
    throw error;
  }
}

describe('a pattern', () => {
  test.each<[string, string[], string[]]>([
    ['*', ['a', 'a.b', '*'], []],
    ['a.*', ['a.', 'a.b', 'a.b.c'], ['a', 'b.a.c', 'A.b']],
    ['*.b', ['.b', 'a.b', 'b.b.b'], ['b', 'a.bc']],
    ['a.*.c', ['a.b.c', 'a..c', 'a.c.c'], ['a.c', 'a.b', 'a.b.cd']],
    ['order.paid', ['order.paid'], ['order.paid.late', 'xorder.paid', 'orderXpaid']],
    ['ab*ba', ['abba', 'ab-ba'], ['aba', 'ab', 'ba']],
    ['a*b*b', ['abb', 'a-b-b', 'abxbb'], ['ab', 'abx', 'ba']],
    ['**', ['a', 'a.b'], []],
    ['a**c', ['ac', 'abc'], ['ab']],
    ['a+(b)?.*', ['a+(b)?.x'], ['aab.x']],
  ])('%s', async (pattern, matching, others) => {
    for (const topic of matching) expect(await matches(pattern, topic), topic).toBe(true);
    for (const topic of others) expect(await matches(pattern, topic), topic).toBe(false);
  });

  test('means the same as the regular expression', async () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 6 });
    const topics = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(letters, topics, async (pattern, topic) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(topic);
        expect(await matches(pattern, topic)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });
});

describe('routePublisher', () => {
  test('the first match wins, and receives row and context', async () => {
    const calls: unknown[] = [];
    class Kafka extends OutboxPublisher {
      async publish(row: OutboxRow, given: PublishContext): Promise<void> {
        calls.push('kafka', row, given);
      }
    }
    const publisher = routePublisher({
      'payments.*': new Kafka(),
      'payments.late': async () => calls.push('never'),
      '*': async (row, given) => calls.push('rest', row, given),
    });
    const late = rowWith({ topic: 'payments.late' });
    const other = rowWith({ topic: 'orders' });
    await publisher.publish(late, context);
    await publisher.publish(other, context);
    expect(calls).toEqual(['kafka', late, context, 'rest', other, context]);
  });

  test('a row that matches no route is a permanent error that names the routes', async () => {
    const publisher = routePublisher({ 'a.*': async () => {}, b: async () => {} });
    const error: unknown = await publisher
      .publish(rowWith({ topic: 'c' }), context)
      .catch((caught) => caught);
    expect(error).toBeInstanceOf(PermanentError);
    expect(error).toHaveProperty('message', "no route for topic 'c'; the routes are: a.*, b");
  });

  test('an error of the chosen publisher passes through', async () => {
    const error = new Error('broker is down');
    const publisher = routePublisher({ '*': () => Promise.reject(error) });
    await expect(publisher.publish(rowWith(), context)).rejects.toBe(error);
  });

  test('invalid routes are rejected early', () => {
    expect(() => routePublisher({})).toThrow(refusal('INVALID_CONFIG', 'routePublisher: no route given'));
    expect(() => routePublisher({ '': async () => {} })).toThrow(
      refusal('INVALID_CONFIG', 'an empty pattern'),
    );
    expect(() => routePublisher({ '*': {} as never })).toThrow(
      refusal('INVALID_CONFIG', 'publisher must be'),
    );
  });
});

test("a routed publisher passes the whole row to each route's matcher", async () => {
  const calls: string[] = [];
  const route = (name: string) => ({
    name,
    matches: (row: OutboxRow) => row.headers.to === name,
    publisher: new RoutedPublisher([
      {
        name: 'all',
        matches: () => true,
        publisher: routePublisher({ '*': async () => calls.push(name) }),
      },
    ]),
  });
  await new RoutedPublisher([route('a'), route('b')]).publish(rowWith({ headers: { to: 'b' } }), context);
  expect(calls).toEqual(['b']);
});

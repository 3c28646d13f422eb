import { describe, expect, test } from 'vitest';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { PublishContext } from '../../src/message/publish-context.js';
import { OutboxPublisher, toPublisher } from '../../src/publish/outbox-publisher.js';
import { refusal, rowWith } from '../outbox-fixture.js';

const context: PublishContext = { attempt: 1, signal: new AbortController().signal };

describe('toPublisher', () => {
  test('a function becomes a publisher that awaits it', async () => {
    const seen: unknown[] = [];
    const row = rowWith();
    const publisher = toPublisher(async (...args) => {
      await Promise.resolve();
      seen.push(...args);
      return 'an answer of the broker';
    });
    expect(publisher).toBeInstanceOf(OutboxPublisher);
    await publisher.publish(row, context);
    expect(seen).toEqual([row, context]);
  });

  test('a function expression is accepted too', async () => {
    const seen: OutboxRow[] = [];
    async function send(row: OutboxRow): Promise<void> {
      seen.push(row);
    }
    await toPublisher(send).publish(rowWith(), context);
    expect(seen).toHaveLength(1);
  });

  test('an object with a publish method is used as it is', () => {
    const publisher = { publish: async () => {} };
    expect(toPublisher(publisher)).toBe(publisher);
  });

  test('a class is rejected with the way to bind it', () => {
    class HttpPublisher extends OutboxPublisher {
      async publish(): Promise<void> {}
    }
    expect(() => toPublisher(HttpPublisher as never)).toThrow(
      refusal('INVALID_CONFIG', 'publisher is the class HttpPublisher; pass an instance, or bind the class'),
    );
  });

  test('a class whose publish is a field is rejected too', () => {
    class ArrowPublisher {
      readonly publish = async (): Promise<void> => {};
    }
    expect(() => toPublisher(ArrowPublisher as never)).toThrow(
      refusal('INVALID_CONFIG', 'publisher is the class ArrowPublisher'),
    );
  });

  test.each([undefined, null, {}, 'kafka', { publish: 'yes' }])('%s is refused', (publisher) => {
    expect(() => toPublisher(publisher as never)).toThrow(
      refusal('INVALID_CONFIG', 'publisher must be a function or an object with a publish method'),
    );
  });
});

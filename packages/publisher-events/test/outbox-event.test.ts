import { OutboxEvent } from '@postcommit/publisher-events';
import { describe, expect, test } from 'vitest';
import { rowWith } from './events-fixture.js';

describe('OutboxEvent', () => {
  test('has all that a listener needs from the row and the attempt', () => {
    const { signal } = new AbortController();
    const row = rowWith({ key: 'order-7', headers: { trace: 'abc' }, createdAt: new Date(5), attempts: 2 });
    const event = new OutboxEvent(row, { attempt: 3, signal });
    expect({ ...event }).toEqual({
      id: 'row-1',
      topic: 'order.paid',
      payload: { id: '7' },
      headers: { trace: 'abc' },
      attempt: 3,
      key: 'order-7',
      createdAt: new Date(5),
    });
    expect(event.signal).toBe(signal);
  });

  test('has no key if the row has none', () => {
    expect('key' in new OutboxEvent(rowWith(), { attempt: 1, signal: new AbortController().signal })).toBe(
      false,
    );
  });

  test('creates the signal only if a listener uses it', () => {
    const asked: string[] = [];
    const context = {
      attempt: 1,
      get signal() {
        asked.push('signal');
        return new AbortController().signal;
      },
    };
    const event = new OutboxEvent(rowWith(), context);
    expect(asked).toEqual([]);
    expect(event.signal.aborted).toBe(false);
    expect(asked).toEqual(['signal']);
  });

  test('is a class named as in the documents', () => {
    const event = new OutboxEvent(rowWith(), { attempt: 1, signal: new AbortController().signal });
    expect(event).toBeInstanceOf(OutboxEvent);
    expect(OutboxEvent.name).toBe('OutboxEvent');
  });
});

import { describe, expect, test } from 'vitest';
import { PublishSlots } from '../../src/publish/publish-slots.js';

describe('PublishSlots', () => {
  test('grants as many as there are, then in the order of asking', async () => {
    const slots = new PublishSlots(2);
    expect([slots.acquire(), slots.acquire()]).toEqual([true, true]);
    const order: string[] = [];
    const third = Promise.resolve(slots.acquire()).then((granted) => order.push(`third ${granted}`));
    const fourth = Promise.resolve(slots.acquire()).then((granted) => order.push(`fourth ${granted}`));
    slots.release({ overdue: false });
    await third;
    expect(order).toEqual(['third true']);
    slots.release({ overdue: false });
    await fourth;
    expect(order).toEqual(['third true', 'fourth true']);
  });

  test('a slot given back can be taken again', () => {
    const slots = new PublishSlots(1);
    expect(slots.acquire()).toBe(true);
    slots.release({ overdue: false });
    expect(slots.acquire()).toBe(true);
  });

  test('is stuck when all are overdue: who waits is refused, and who asks', async () => {
    const slots = new PublishSlots(2);
    expect([slots.acquire(), slots.acquire()]).toEqual([true, true]);
    const waiting = slots.acquire();
    slots.markOverdue();
    expect(slots.stuck).toBe(false);
    slots.markOverdue();
    expect(slots.stuck).toBe(true);
    expect(await waiting).toBe(false);
    expect(slots.acquire()).toBe(false);
  });

  test('an overdue publish that ends makes room again', () => {
    const slots = new PublishSlots(1);
    expect(slots.acquire()).toBe(true);
    slots.markOverdue();
    slots.release({ overdue: true });
    expect(slots.stuck).toBe(false);
    expect(slots.acquire()).toBe(true);
    expect(slots.acquire()).toBeInstanceOf(Promise);
  });
});

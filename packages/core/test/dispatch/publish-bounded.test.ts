import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { PublishSlots } from '../../src/dispatch/publish-bounded.js';

function slotsOf(size: number): { clock: VirtualClock; slots: PublishSlots } {
  const clock = new VirtualClock();
  return { clock, slots: new PublishSlots(size, clock) };
}

describe('PublishSlots', () => {
  test('grants as many as there are, then in the order of asking', async () => {
    const { slots } = slotsOf(2);
    expect([slots.acquire(), slots.acquire()]).toEqual([true, true]);
    const order: string[] = [];
    const third = Promise.resolve(slots.acquire()).then((granted) => order.push(`third ${granted}`));
    const fourth = Promise.resolve(slots.acquire()).then((granted) => order.push(`fourth ${granted}`));
    slots.release();
    await third;
    expect(order).toEqual(['third true']);
    slots.release();
    await fourth;
    expect(order).toEqual(['third true', 'fourth true']);
  });

  test('a released slot can be taken again', () => {
    const { slots } = slotsOf(1);
    expect(slots.acquire()).toBe(true);
    slots.release();
    expect(slots.acquire()).toBe(true);
  });

  test('when every slot is overdue, callers that wait and callers that ask are refused', async () => {
    const { clock, slots } = slotsOf(2);
    expect([slots.acquire(), slots.acquire()]).toEqual([true, true]);
    const waiting = slots.acquire();
    slots.overrun(['a']);
    await clock.advance(0);
    expect(slots.stuck).toBe(false);
    slots.overrun(['b', 'c']);
    expect(slots.stuck).toBe(false);
    await clock.advance(0);
    expect(slots.stuck).toBe(true);
    expect(slots.overrunIds).toEqual(['a', 'b', 'c']);
    expect(await waiting).toBe(false);
    expect(slots.acquire()).toBe(false);
  });

  test('an overdue publish that ends releases its slot', async () => {
    const { clock, slots } = slotsOf(1);
    expect(slots.acquire()).toBe(true);
    const end = slots.overrun(['a']);
    await clock.advance(0);
    end();
    expect(slots.stuck).toBe(false);
    expect(slots.overrunIds).toEqual([]);
    expect(slots.acquire()).toBe(true);
    expect(slots.acquire()).toBeInstanceOf(Promise);
  });

  test('a publish that obeys its signal at once was never overdue', async () => {
    const { clock, slots } = slotsOf(1);
    expect(slots.acquire()).toBe(true);
    slots.overrun(['a'])();
    await clock.advance(0);
    expect(slots.stuck).toBe(false);
    expect(slots.acquire()).toBe(true);
  });
});

import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { NOTIFY_WINDOW_MS, NotifyDebounce } from '../src/store/notify-debounce.js';

let clock: VirtualClock;
/** When a trailing notification was sent, in milliseconds since the start. */
let trailing: number[];
let send: () => Promise<unknown>;
let debounce: NotifyDebounce;

beforeEach(() => {
  clock = new VirtualClock();
  trailing = [];
  send = async () => {};
  debounce = new NotifyDebounce(() => {
    trailing.push(clock.monotonicMs());
    return send();
  }, clock);
});

const admitted = (count: number): boolean[] => Array.from({ length: count }, () => debounce.admit());

describe('a burst', () => {
  it('notifies with its first enqueue, and once more at the end of the window', async () => {
    expect(admitted(1_000)).toEqual([true, ...Array(999).fill(false)]);
    await clock.advance(NOTIFY_WINDOW_MS - 1);
    expect(trailing).toEqual([]);
    await clock.advance(10 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([NOTIFY_WINDOW_MS]);
  });

  it('of one enqueue needs no trailing notification', async () => {
    expect(debounce.admit()).toBe(true);
    await clock.advance(10 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([]);
  });

  it('that continues is announced once in each window, by trailing notifications only', async () => {
    const enqueues: boolean[] = [];
    for (let ms = 0; ms < 1_000; ms += 10) {
      enqueues.push(debounce.admit());
      await clock.advance(NOTIFY_WINDOW_MS / 10);
    }
    await clock.advance(NOTIFY_WINDOW_MS);
    expect(enqueues.filter((isNotifying) => isNotifying)).toHaveLength(1);
    expect(trailing).toEqual(Array.from({ length: 10 }, (_, index) => (index + 1) * NOTIFY_WINDOW_MS));
  });

  it('starts again after a quiet window', async () => {
    admitted(2);
    await clock.advance(NOTIFY_WINDOW_MS);
    expect(debounce.admit(), 'the window of the trailing one').toBe(false);
    await clock.advance(2 * NOTIFY_WINDOW_MS);
    expect(trailing).toHaveLength(2);
    expect(debounce.admit()).toBe(true);
  });
});

describe('a trailing notification', () => {
  it('that fails is dropped, and the next is sent', async () => {
    send = () => Promise.reject(new Error('the database is gone'));
    admitted(2);
    await clock.advance(NOTIFY_WINDOW_MS);
    expect(debounce.admit()).toBe(false);
    await clock.advance(NOTIFY_WINDOW_MS);
    expect(trailing).toHaveLength(2);
  });

  it('that is slow is awaited: no second one runs beside it, and one follows for later enqueues', async () => {
    let answer: () => void = () => {};
    send = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      });
    admitted(2);
    await clock.advance(NOTIFY_WINDOW_MS);
    expect(admitted(3)).toEqual([false, false, false]);
    await clock.advance(5 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([NOTIFY_WINDOW_MS]);
    answer();
    await clock.advance(2 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([NOTIFY_WINDOW_MS, 7 * NOTIFY_WINDOW_MS]);
  });
});

describe('flush', () => {
  it('sends a pending notification at once, and leaves no timer', async () => {
    admitted(2);
    await debounce.flush();
    expect(trailing).toEqual([0]);
    await clock.advance(10 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([0]);
  });

  it('sends nothing if nothing is pending', async () => {
    await debounce.flush();
    debounce.admit();
    await debounce.flush();
    expect(trailing).toEqual([]);
  });

  it('also sends what arrived while one was being sent', async () => {
    const answers: Array<() => void> = [];
    send = () =>
      new Promise<void>((resolve) => {
        answers.push(resolve);
      });
    admitted(2);
    await clock.advance(NOTIFY_WINDOW_MS);
    debounce.admit();
    const flushed = debounce.flush();
    answers[0]?.();
    await clock.advance(0);
    expect(trailing).toEqual([NOTIFY_WINDOW_MS, NOTIFY_WINDOW_MS]);
    answers[1]?.();
    await flushed;
  });

  it('does not wait forever', async () => {
    send = () => new Promise(() => {});
    admitted(2);
    const flushed = debounce.flush();
    await clock.advance(1_000);
    await flushed;
  });
});

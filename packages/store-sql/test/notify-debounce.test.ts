import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  BLOCKED,
  LONGEST_WINDOW_MS,
  NOTIFY_WINDOW_MS,
  NotifyDebounce,
  REFUSED_MS,
  SHARED_BY,
} from '../src/store/notify-debounce.js';

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

/** So many enqueues, refused by the database if they try. Returns whether each tried. */
const refused = (count: number): boolean[] =>
  Array.from({ length: count }, () => {
    const tries = debounce.admit();
    if (tries) debounce.answered({ isNotifying: false });
    return tries;
  });

/** An enqueue that tries, and notifies. */
const accepted = (): void => {
  expect(debounce.admit()).toBe(true);
  debounce.answered({ isNotifying: true });
};

describe('at ordinary rates', () => {
  it('every enqueue notifies, and nothing else is sent', async () => {
    for (let ms = 0; ms < 1_000; ms++) {
      accepted();
      await clock.advance(1);
    }
    expect(trailing).toEqual([]);
  });

  it('one that is refused is covered a little later, and the others still notify', async () => {
    expect(refused(1)).toEqual([true]);
    accepted();
    expect(refused(1)).toEqual([true]);
    await clock.advance(REFUSED_MS - 1);
    expect(trailing).toEqual([]);
    await clock.advance(10 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([REFUSED_MS]);
  });
});

describe('a storm', () => {
  it('begins with two refusals in a row; then one enqueue tries after each trailing notification', async () => {
    expect(refused(1_000)).toEqual([true, true, ...Array(998).fill(false)]);
    await clock.advance(REFUSED_MS);
    expect(trailing).toEqual([REFUSED_MS]);
    expect(refused(1_000)).toEqual([true, ...Array(999).fill(false)]);
    await clock.advance(NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([REFUSED_MS, REFUSED_MS + NOTIFY_WINDOW_MS]);
  });

  it('in one busy process is announced once in each window', async () => {
    let tries = 0;
    for (let ms = 0; ms < 250; ms++) {
      tries += refused(10).filter(Boolean).length;
      await clock.advance(1);
    }
    expect(trailing).toEqual(Array.from({ length: 10 }, (_, index) => REFUSED_MS + index * NOTIFY_WINDOW_MS));
    expect(tries).toBe(12);
  });

  it('of many processes is announced by each once for ten enqueues, or in 200 ms', async () => {
    refused(2);
    await clock.advance(REFUSED_MS);
    for (let enqueues = 0; enqueues < 2 * SHARED_BY; enqueues++) {
      refused(1);
      await clock.advance(10);
    }
    expect(trailing).toHaveLength(3);
    refused(1);
    await clock.advance(LONGEST_WINDOW_MS);
    expect(trailing).toHaveLength(4);
  });

  it('in which nobody can notify is announced once in each window, however little is enqueued', async () => {
    for (let tries = 0; tries < BLOCKED; tries++) {
      refused(2);
      await clock.advance(LONGEST_WINDOW_MS);
    }
    const before = trailing.length;
    for (let count = 1; count <= 5; count++) {
      refused(1);
      await clock.advance(NOTIFY_WINDOW_MS);
      expect(trailing).toHaveLength(before + count);
    }
  });

  it('is over when the database takes the next notification', async () => {
    refused(3);
    await clock.advance(REFUSED_MS);
    for (let count = 0; count < 10; count++) accepted();
    await clock.advance(10 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([REFUSED_MS]);
  });
});

describe('a trailing notification', () => {
  it('that fails is dropped, and the next is sent', async () => {
    send = () => Promise.reject(new Error('the database is gone'));
    refused(3);
    await clock.advance(REFUSED_MS);
    refused(SHARED_BY);
    await clock.advance(NOTIFY_WINDOW_MS);
    expect(trailing).toHaveLength(2);
  });

  it('that is slow is awaited: no second one runs beside it, and one follows for later enqueues', async () => {
    let answer: () => void = () => {};
    send = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      });
    refused(2);
    await clock.advance(REFUSED_MS);
    expect(refused(SHARED_BY)).toEqual(Array(SHARED_BY).fill(false));
    await clock.advance(5 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([REFUSED_MS]);
    answer();
    await clock.advance(2 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([REFUSED_MS, REFUSED_MS + 6 * NOTIFY_WINDOW_MS]);
  });
});

describe('flush', () => {
  it('sends a pending notification at once, and leaves no timer', async () => {
    refused(2);
    await debounce.flush();
    expect(trailing).toEqual([0]);
    await clock.advance(10 * NOTIFY_WINDOW_MS);
    expect(trailing).toEqual([0]);
  });

  it('sends nothing if nothing is pending', async () => {
    await debounce.flush();
    accepted();
    await debounce.flush();
    expect(trailing).toEqual([]);
  });

  it('also sends what arrived while one was being sent', async () => {
    const answers: Array<() => void> = [];
    send = () =>
      new Promise<void>((resolve) => {
        answers.push(resolve);
      });
    refused(2);
    await clock.advance(REFUSED_MS);
    refused(1);
    const flushed = debounce.flush();
    answers[0]?.();
    await clock.advance(0);
    expect(trailing).toEqual([REFUSED_MS, REFUSED_MS]);
    answers[1]?.();
    await flushed;
  });

  it('does not wait forever', async () => {
    send = () => new Promise(() => {});
    refused(2);
    const flushed = debounce.flush();
    await clock.advance(1_000);
    await flushed;
  });
});

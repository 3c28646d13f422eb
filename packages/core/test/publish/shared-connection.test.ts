import { beforeEach, describe, expect, test } from 'vitest';
import { type ConnectionSource, SharedConnection } from '../../src/publish/shared-connection.js';
import { type Deferred, deferred } from '../outbox-fixture.js';

interface Connection {
  readonly number: number;
}

/** Opens connections when the test says so. */
class Source implements ConnectionSource<Connection> {
  readonly attempts: Deferred[] = [];
  readonly closed: number[] = [];

  async open(): Promise<Connection> {
    const attempt = deferred();
    this.attempts.push(attempt);
    const number = this.attempts.length;
    await attempt.promise;
    return { number };
  }

  async close({ number }: Connection): Promise<void> {
    this.closed.push(number);
  }
}

let source = new Source();
let shared = new SharedConnection(source);

beforeEach(() => {
  source = new Source();
  shared = new SharedConnection(source);
});

async function opened(): Promise<Connection> {
  const connection = shared.get();
  source.attempts.at(-1)?.resolve();
  return connection;
}

describe('get', () => {
  test('opens the connection once, on demand', async () => {
    expect(source.attempts).toHaveLength(0);
    const both = Promise.all([shared.get(), shared.get()]);
    expect(shared.isOpen).toBe(false);
    source.attempts[0]?.resolve();
    const [one, two] = await both;
    expect(one).toBe(two);
    expect(await shared.get()).toBe(one);
    expect(source.attempts).toHaveLength(1);
    expect(shared.isOpen).toBe(true);
  });

  test('tries again after a failure, which all waiting calls share', async () => {
    const both = Promise.allSettled([shared.get(), shared.get()]);
    source.attempts[0]?.reject(new Error('refused'));
    expect(await both).toMatchObject([
      { reason: { message: 'refused' } },
      { reason: { message: 'refused' } },
    ]);
    expect(shared.isOpen).toBe(false);
    expect(await opened()).toEqual({ number: 2 });
  });

  test('tries again as soon as a caller sees the failure', async () => {
    const retried = shared.get().catch(() => shared.get());
    source.attempts[0]?.reject(new Error('refused'));
    await Promise.resolve().then(() => {});
    await new Promise(setImmediate);
    source.attempts[1]?.resolve();
    expect(await retried).toEqual({ number: 2 });
  });

  test('rejects when the source throws at once', async () => {
    const broken = new SharedConnection<Connection>({
      open: () => {
        throw new Error('no address');
      },
      close: async () => {},
    });
    await expect(broken.get()).rejects.toThrow('no address');
    await broken.close();
  });
});

describe('lost', () => {
  test('takes effect at once: the next get opens another connection', async () => {
    const first = await opened();
    void shared.lost(first);
    expect(shared.isOpen).toBe(false);
    expect(await opened()).toEqual({ number: 2 });
    expect(source.closed).toEqual([]);
  });

  test('of an older connection changes nothing', async () => {
    const first = await opened();
    await shared.lost(first);
    const second = await opened();
    await shared.lost(first);
    expect(await shared.get()).toBe(second);
    expect(shared.isOpen).toBe(true);
  });

  test('of an older connection during an attempt leaves the attempt alone', async () => {
    const first = await opened();
    await shared.lost(first);
    const second = shared.get();
    const lost = shared.lost(first);
    source.attempts[1]?.resolve();
    await lost;
    expect(await shared.get()).toBe(await second);
    expect(source.attempts).toHaveLength(2);
  });

  test('that is noticed before the source has returned the connection is not forgotten', async () => {
    const connection = { number: 0 };
    const returned = deferred();
    let attempts = 0;
    const early: SharedConnection<Connection> = new SharedConnection({
      open: async () => {
        attempts += 1;
        await returned.promise;
        return connection;
      },
      close: async () => {},
    });
    const getting = early.get();
    const lost = early.lost(connection);
    returned.resolve();
    await Promise.all([getting, lost]);
    expect(early.isOpen).toBe(false);
    await early.get();
    expect(attempts).toBe(2);
  });

  test('does nothing without a connection, or during an attempt that fails', async () => {
    await shared.lost({ number: 1 });
    const getting = shared.get();
    const lost = shared.lost({ number: 1 });
    source.attempts[0]?.reject(new Error('refused'));
    await expect(getting).rejects.toThrow('refused');
    await lost;
    expect(await opened()).toEqual({ number: 2 });
  });
});

describe('close', () => {
  test('closes an open connection once; get opens another one', async () => {
    await opened();
    await Promise.all([shared.close(), shared.close()]);
    expect(source.closed).toEqual([1]);
    expect(shared.isOpen).toBe(false);
    expect(await opened()).toEqual({ number: 2 });
  });

  test('during an attempt closes what it opens, and not the connection after it', async () => {
    const first = shared.get();
    const closing = shared.close();
    const second = shared.get();
    source.attempts[1]?.resolve();
    await second;
    source.attempts[0]?.resolve();
    await Promise.all([first, closing]);
    expect(source.closed).toEqual([1]);
    expect(shared.isOpen).toBe(true);
    expect(await shared.get()).toBe(await second);
  });

  test('during an attempt that fails has nothing to close', async () => {
    const first = shared.get().catch((error: Error) => error.message);
    const closing = shared.close();
    source.attempts[0]?.reject(new Error('refused'));
    await closing;
    expect(await first).toBe('refused');
    expect(source.closed).toEqual([]);
  });

  test('reports that closing failed', async () => {
    await opened();
    source.close = () => Promise.reject(new Error('already gone'));
    await expect(shared.close()).rejects.toThrow('already gone');
    expect(await opened()).toEqual({ number: 2 });
  });
});

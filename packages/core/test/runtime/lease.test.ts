import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { Lease, type LeaseOptions } from '../../src/runtime/timing.js';

const TTL_MS = 30_000;

interface Setup {
  readonly clock: VirtualClock;
  readonly lease: Lease;
  /** When each renewal was sent. */
  readonly renewedAtMs: number[];
  readonly expiries: string[];
}

/** A lease that was requested at 0 and granted at `grantedAtMs`. */
async function setUp(options: Partial<LeaseOptions> = {}, grantedAtMs = 0): Promise<Setup> {
  const clock = new VirtualClock();
  const startMs = clock.monotonicMs();
  await clock.advance(grantedAtMs);
  const renewedAtMs: number[] = [];
  const expiries: string[] = [];
  const { renew = async () => true } = options;
  const lease = new Lease({
    ttlMs: TTL_MS,
    sentAtMs: startMs,
    clock,
    onExpired: (why) => expiries.push(why),
    ...options,
    renew: () => {
      renewedAtMs.push(clock.monotonicMs() - startMs);
      return renew();
    },
  });
  return { clock, lease, renewedAtMs, expiries };
}

describe('a lease', () => {
  test('is renewed at every interval, and does not expire', async () => {
    const { clock, lease, renewedAtMs, expiries } = await setUp();
    await clock.advance(4 * TTL_MS);
    expect(renewedAtMs.slice(0, 3)).toEqual([10_000, 20_000, 30_000]);
    expect(lease.remainingMs).toBe(TTL_MS);
    expect(expiries).toEqual([]);
    lease.end();
  });

  test('that was granted late is renewed at once, counted from its request', async () => {
    const { clock, lease, renewedAtMs } = await setUp({}, 25_000);
    expect(lease.remainingMs).toBe(5_000);
    await clock.advance(1);
    expect(renewedAtMs).toEqual([25_000]);
    expect(lease.remainingMs).toBe(TTL_MS - 1);
    lease.end();
  });

  test('expires if no renewal succeeds, and says why', async () => {
    const { clock, lease, expiries } = await setUp({ renew: () => Promise.reject(new Error('no route')) });
    await clock.advance(TTL_MS - 1);
    expect(expiries).toEqual([]);
    await clock.advance(1);
    expect(expiries).toEqual([': no route']);
    lease.end();
  });

  test('expires on time when nothing is left to renew', async () => {
    const { clock, lease, expiries } = await setUp({ renew: async () => false });
    await clock.advance(TTL_MS);
    expect(expiries).toEqual(['']);
    lease.end();
  });

  test('keeps its deadline when an older answer comes after a newer one', async () => {
    const answers: ((isHeld: boolean) => void)[] = [];
    const { clock, lease } = await setUp({ renew: () => new Promise((resolve) => answers.push(resolve)) });
    await clock.advance(20_000);
    answers[1]?.(true);
    await clock.advance(0);
    expect(lease.remainingMs).toBe(TTL_MS);
    answers[0]?.(true);
    await clock.advance(0);
    expect(lease.remainingMs).toBe(TTL_MS);
    lease.end();
  });

  test('waits for the renewal under way when it stops renewing, and then expires', async () => {
    let answer = (_: boolean): void => {};
    const { clock, lease, renewedAtMs, expiries } = await setUp({
      renew: () => new Promise((resolve) => (answer = resolve)),
    });
    await clock.advance(10_000);
    let hasStopped = false;
    const stopping = lease.stopRenewing().then(() => {
      hasStopped = true;
    });
    await clock.advance(0);
    expect(hasStopped).toBe(false);
    answer(true);
    await stopping;
    await clock.advance(TTL_MS);
    expect(renewedAtMs).toEqual([10_000]);
    expect(expiries).toEqual(['']);
    lease.end();
  });

  test('that has ended is not renewed and does not expire, even if a late answer arrives', async () => {
    let answer = (_: boolean): void => {};
    const { clock, lease, renewedAtMs, expiries } = await setUp({
      renew: () => new Promise((resolve) => (answer = resolve)),
    });
    await clock.advance(10_000);
    lease.end();
    answer(true);
    await clock.advance(4 * TTL_MS);
    expect(renewedAtMs).toEqual([10_000]);
    expect(expiries).toEqual([]);
  });
});

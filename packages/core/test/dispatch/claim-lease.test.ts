import { MemoryOutboxStore } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { type Claim, ClaimLease, UNREGISTERED } from '../../src/dispatch/claim-lease.js';
import { RowInFlight } from '../../src/dispatch/rows-in-flight.js';
import { StoreCalls } from '../../src/runtime/store-calls.js';
import { type CountingClock, deferred, openOutbox, rowWith } from '../outbox-fixture.js';

/** Answers `extendClaim` as the test says, and remembers what it was asked. */
class ExtendingStore extends MemoryOutboxStore {
  readonly asked: string[][] = [];
  answer: (ids: string[], call: number) => Promise<string[]> = async (ids) => ids;

  override extendClaim(_claimToken: string, ids: readonly string[]): Promise<string[]> {
    this.asked.push([...ids]);
    return this.answer([...ids], this.asked.length);
  }
}

interface OpenLease {
  readonly clock: CountingClock;
  readonly store: ExtendingStore;
  readonly lease: ClaimLease;
  readonly calls: StoreCalls;
  readonly a: RowInFlight;
  readonly b: RowInFlight;
}

function inFlight(id: string): RowInFlight {
  return new RowInFlight(rowWith({ id }));
}

function claimAt(sentAtMs: number): Pick<Claim, 'token' | 'standing' | 'sentAtMs'> {
  return { token: 'token', standing: UNREGISTERED, sentAtMs };
}

function openLease(ids: string[]): OpenLease {
  const { clock, store } = openOutbox({ claimTimeoutMs: 300 }, (options) => new ExtendingStore(options));
  const [a, b] = [inFlight('a'), inFlight('b')];
  const rows = ids.length === 1 ? [a] : [a, b];
  const calls = new StoreCalls(clock, store.claimTimeoutMs);
  const lease = new ClaimLease(store, calls, claimAt(clock.monotonicMs()), rows, clock);
  return { clock, store, lease, calls, a, b };
}

describe('ClaimLease', () => {
  test('extends all its rows every third of the claim', async () => {
    const { clock, store, lease, a } = openLease(['a', 'b']);
    await clock.advance(99);
    expect(store.asked).toEqual([]);
    await clock.advance(201);
    expect(store.asked).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
    ]);
    expect(lease.holds(a)).toBe(true);
    lease.end();
  });

  test('counts from when the claim was sent: a slow claim is extended earlier', async () => {
    const { clock, store } = openOutbox({ claimTimeoutMs: 300 }, (options) => new ExtendingStore(options));
    const sentAtMs = clock.monotonicMs();
    const a = inFlight('a');
    await clock.advance(250);
    const calls = new StoreCalls(clock, store.claimTimeoutMs);
    const lease = new ClaimLease(store, calls, claimAt(sentAtMs), [a], clock);
    await clock.advance(100);
    expect(store.asked).toEqual([['a'], ['a']]);
    expect(lease.holds(a)).toBe(true);
    lease.end();
  });

  test('drops a row that the store no longer extends, and aborts its publish', async () => {
    const { clock, store, lease, a, b } = openLease(['a', 'b']);
    store.answer = async () => ['b'];
    const aborted: string[] = [];
    lease.publishStarted([a], ({ message }) => aborted.push(message));
    lease.publishStarted([b], ({ message }) => aborted.push(message));
    await clock.advance(100);
    expect(aborted).toEqual(['the claim on row a was lost: another dispatcher took it, or it was requeued']);
    expect([lease.holds(a), lease.holds(b)]).toEqual([false, true]);
    await clock.advance(100);
    expect(store.asked.at(-1)).toEqual(['b']);
    lease.end();
  });

  test('does not abort a publish that has ended', async () => {
    const { clock, store, lease, a } = openLease(['a']);
    store.answer = async () => [];
    const aborted: string[] = [];
    lease.publishStarted([a], ({ message }) => aborted.push(message));
    lease.publishEnded([a]);
    await clock.advance(100);
    expect(aborted).toEqual([]);
    lease.end();
  });

  test('survives failed heartbeats if one succeeds before the deadline', async () => {
    const { clock, store, lease, a } = openLease(['a']);
    store.answer = (ids, call) => (call % 2 === 1 ? Promise.reject(new Error('away')) : Promise.resolve(ids));
    await clock.advance(2_000);
    expect(lease.holds(a)).toBe(true);
    lease.end();
  });

  test('ends at the deadline if no heartbeat is answered', async () => {
    const { clock, store, lease, calls, a } = openLease(['a']);
    store.answer = () => deferred().promise.then(() => []);
    const aborted: string[] = [];
    lease.publishStarted([a], ({ message }) => aborted.push(message));
    await clock.advance(299);
    expect(lease.holds(a)).toBe(true);
    await clock.advance(1);
    expect(lease.holds(a)).toBe(false);
    expect(aborted).toEqual(['the claim on row a was lost: it expired and could not be extended']);
    lease.end();
    calls.giveUp(new Error('the worker was stopped'));
  });

  test('a late answer does not undo a newer one', async () => {
    const { clock, store, lease, a } = openLease(['a']);
    const firstAnswer = deferred();
    store.answer = (ids, call) => (call === 1 ? firstAnswer.promise.then(() => ids) : Promise.resolve(ids));
    const aborted: string[] = [];
    lease.publishStarted([a], ({ message }) => aborted.push(message));
    await clock.advance(450);
    firstAnswer.resolve();
    await clock.advance(1);
    expect(aborted).toEqual([]);
    expect(lease.holds(a)).toBe(true);
    lease.end();
  });

  test('an answer after the end starts nothing', async () => {
    const { clock, store, lease, a } = openLease(['a']);
    const answer = deferred();
    store.answer = (ids) => answer.promise.then(() => ids);
    await clock.advance(100);
    lease.end();
    answer.resolve();
    await clock.idle();
    expect(clock.pendingTimers).toBe(0);
    expect(lease.holds(a)).toBe(false);
    await clock.advance(1_000);
    expect(store.asked).toHaveLength(1);
  });
});

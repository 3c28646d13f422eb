import type { RateLimit } from '../../src/dispatch/rate-limits.js';
import type { BackoffOptions } from '../../src/message/retry-options.js';
import { takeoverMs } from '../../src/worker/worker-watch.js';
import type { SimRandom } from './sim-random.js';

/** How one process is configured; all its lives have the same. */
export interface Settings {
  readonly role: 'worker' | 'dispatcher';
  readonly batchSize: number;
  readonly concurrency: number;
  readonly claimTimeoutMs: number;
  readonly publishTimeoutMs: number;
  readonly maxAttempts: number;
  readonly maxRetakes: number;
  readonly backoff: BackoffOptions | undefined;
  readonly publishesBatches: boolean;
  /** Of a dispatcher: some calls of `dispatchPending` begin before the last one has ended. */
  readonly overlaps: boolean;
  /** Of a worker. */
  readonly pollIntervalMs: number;
  readonly batchesInFlight: number;
  readonly backlogThreshold: number | undefined;
  readonly takeoverAfterMs: number | false;
  readonly rateLimit: Readonly<Record<string, RateLimit>> | undefined;
}

/** How bad a run is. Each kind of fault is absent from some: what masks another one's effect must not always be there. */
export interface Weather {
  /** The share of store calls that go wrong, and how. */
  readonly storeFaults: number;
  readonly storeFaultKinds: readonly [StoreFault, ...StoreFault[]];
  readonly publishFaults: number;
  readonly publishFaultKinds: readonly [PublishFault, ...PublishFault[]];
  /** How long a publish takes when nothing is wrong. */
  readonly publishMs: number;
  /** How often each happens in the bad times. */
  readonly kills: number;
  readonly freezes: number;
  readonly stops: number;
  readonly operations: number;
  readonly poison: number;
  /** Schemas that are slow, or never answer. */
  readonly slowSchemas: number;
  readonly interceptorFaults: number;
  /** How often a topic is paused, for a while. */
  readonly pauses: number;
  /** How often the broker goes away and comes back. */
  readonly outages: number;
  readonly badTimesMs: number;
}

export type StoreFault = 'refused' | 'answer lost' | 'done after the error' | 'slow' | 'hangs';
export type PublishFault = 'fails' | 'permanent' | 'retry later' | 'result lost' | 'slow' | 'hangs';

const STORE_FAULTS = ['refused', 'answer lost', 'done after the error', 'slow', 'hangs'] as const;
const PUBLISH_FAULTS = ['fails', 'permanent', 'retry later', 'result lost', 'slow', 'hangs'] as const;

/** Claims that are so long that rows of a dead worker are taken over before they expire. */
export const LONG_CLAIM_MS = 60_000;
const LONGEST_PUBLISH_MS = 2_000;

export function takeoverMsOf({ takeoverAfterMs, publishTimeoutMs }: Settings): number {
  return takeoverMs(takeoverAfterMs || 0, publishTimeoutMs);
}

/** `isRegistered`: in this world, workers know each other. `people`: what operators order. */
export function drawSettings(random: SimRandom, people: SimRandom, isRegistered: boolean): Settings {
  const role = isRegistered || random.chance(0.75) ? 'worker' : 'dispatcher';
  const claimTimeoutMs = isRegistered ? LONG_CLAIM_MS : random.pick([900, 1_500, 3_000, 6_000]);
  return {
    role,
    batchSize: random.whole(1, 10),
    concurrency: random.whole(1, 4),
    claimTimeoutMs,
    publishTimeoutMs: Math.floor(
      random.between(0.05, 0.66) *
        Math.min(claimTimeoutMs, isRegistered ? LONGEST_PUBLISH_MS : claimTimeoutMs),
    ),
    rateLimit: people.chance(0.25) ? { plain: { perSecond: people.whole(6, 15) } } : undefined,
    takeoverAfterMs: isRegistered && random.whole(500, 9_000),
    maxAttempts: random.chance(0.4) ? Number.POSITIVE_INFINITY : random.whole(1, 6),
    maxRetakes: random.whole(2, 5),
    backoff: random.pick([
      undefined,
      { type: 'fixed', delayMs: 200 },
      { type: 'exponential', delayMs: 50, maxDelayMs: 2_000, jitter: 'full' },
    ]),
    publishesBatches: random.chance(0.35),
    overlaps: role === 'dispatcher' && random.chance(0.3),
    pollIntervalMs: random.whole(100, 1_000),
    batchesInFlight: random.whole(1, 3),
    backlogThreshold: random.chance(0.2) ? random.whole(1, 10) : undefined,
  };
}

export function drawWeather(random: SimRandom, people: SimRandom, isRegistered: boolean): Weather {
  const some = (most: number): number => (random.chance(0.5) ? random.whole(1, most) : 0);
  const rate = (most: number): number => (random.chance(0.35) ? 0 : random.between(0.02, most));
  return {
    storeFaults: rate(0.3),
    storeFaultKinds: someOf(STORE_FAULTS, random),
    publishFaults: rate(0.6),
    publishFaultKinds: someOf(PUBLISH_FAULTS, random),
    publishMs: random.pick([5, 40, 40, 400]),
    kills: some(3),
    freezes: some(3),
    stops: some(4),
    operations: some(8),
    poison: random.chance(0.3) ? random.whole(1, 2) : 0,
    slowSchemas: rate(0.5),
    interceptorFaults: random.chance(0.2) ? 0.1 : 0,
    badTimesMs: isRegistered ? random.between(10_000, 40_000) : random.between(4_000, 15_000),
    outages: random.chance(0.5) ? random.whole(1, 2) : 0,
    pauses: people.chance(0.4) ? people.whole(1, 3) : 0,
  };
}

function someOf<T>(all: readonly [T, ...T[]], random: SimRandom): [T, ...T[]] {
  return [random.pick(all), ...all.filter(() => random.chance(0.5))];
}

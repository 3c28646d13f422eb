import { OutboxError } from '../message/errors.js';
import { assertKnownOptions } from '../message/known-options.js';
import type { OutboxRow } from '../message/outbox-row.js';
import { topicMatcher } from '../message/topic-pattern.js';
import type { ClaimPlan } from '../publish/availability.js';
import type { Clock } from '../runtime/timing.js';

/** Limits how many rows a process publishes. */
export interface RateLimit {
  /** On average; up to a tenth of it at once. */
  readonly perSecond: number;
}

/** Rows of a limited topic are claimed at most this often, so that they cost others little. */
const LEAST_WAIT_MS = 100;
/** A claim leaves out at most this many limited topics. */
const MAX_TOPICS = 500;

/**
 * Publishes rows of limited topics no faster than their rate. A claim can't ask for a number of rows of one topic, so
 * small claims, of as many rows as may be published, take turns with claims that leave the limited topics out.
 */
export class RateLimits {
  readonly #buckets: readonly Bucket[];
  readonly #clock: Clock;
  /** The limited topics seen so far. */
  readonly #topics = new Map<string, Bucket>();
  #nextSmallAtMs = Number.NEGATIVE_INFINITY;
  #leftOut = false;

  constructor(limits: Readonly<Record<string, RateLimit>>, clock: Clock) {
    this.#clock = clock;
    this.#buckets = Object.entries(limits).map(([pattern, limit]) => new Bucket(pattern, limit, clock));
  }

  /** What the next claim may ask for. */
  plan(limit: number): ClaimPlan {
    const known = [...this.#topics];
    if (known.length === 0) return { limit, exceptTopics: [] };
    const isSmall = this.#clock.monotonicMs() >= this.#nextSmallAtMs;
    const exceptTopics = known.flatMap(([topic, bucket]) => (isSmall && bucket.whole > 0 ? [] : topic));
    this.#leftOut = exceptTopics.length > 0;
    const isOpen = exceptTopics.length < known.length;
    if (!isOpen) return { limit, exceptTopics };
    this.#nextSmallAtMs = this.#clock.monotonicMs() + LEAST_WAIT_MS;
    const fewest = Math.min(...known.map(([, { whole }]) => whole || Number.POSITIVE_INFINITY));
    return { limit: Math.min(limit, fewest), exceptTopics };
  }

  /** Takes a token for each claimed row. Returns the rows that must wait. */
  take(rows: readonly OutboxRow[]): ReadonlySet<OutboxRow> {
    const waiting = new Set<OutboxRow>();
    if (this.#buckets.length === 0) return waiting;
    for (const row of rows) {
      const bucket = this.#bucketOf(row.topic);
      if (bucket && !bucket.take()) waiting.add(row);
    }
    return waiting;
  }

  /** How long to wait at most before the next claim, for rows that the last one left out. */
  get waitMs(): number {
    if (!this.#leftOut) return Number.POSITIVE_INFINITY;
    const nextTokenMs = Math.min(...[...this.#topics.values()].map(({ waitMs }) => waitMs));
    const nextSmallMs = this.#nextSmallAtMs - this.#clock.monotonicMs();
    return Math.max(1, Math.ceil(Math.max(nextTokenMs, nextSmallMs)));
  }

  #bucketOf(topic: string): Bucket | undefined {
    const known = this.#topics.get(topic);
    if (known) return known;
    const bucket = this.#buckets.find(({ matches }) => matches(topic));
    if (bucket && this.#topics.size < MAX_TOPICS) this.#topics.set(topic, bucket);
    return bucket;
  }
}

/** A token bucket: one token per row that may be published now. */
class Bucket {
  readonly matches: (topic: string) => boolean;
  readonly #perMs: number;
  readonly #most: number;
  readonly #clock: Clock;
  #tokens: number;
  #atMs: number;

  constructor(pattern: string, { perSecond }: RateLimit, clock: Clock) {
    this.matches = topicMatcher(pattern);
    this.#perMs = perSecond / 1_000;
    this.#most = Math.max(1, perSecond / 10);
    this.#clock = clock;
    this.#tokens = this.#most;
    this.#atMs = clock.monotonicMs();
  }

  get whole(): number {
    this.#refill();
    // Refilling adds fractions, which may fall just short of a whole.
    return Math.floor(this.#tokens + 1e-6);
  }

  take(): boolean {
    if (this.whole === 0) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Until there is a whole token. */
  get waitMs(): number {
    return this.whole > 0 ? 0 : (1 - this.#tokens) / this.#perMs;
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#most, this.#tokens + (nowMs - this.#atMs) * this.#perMs);
    this.#atMs = nowMs;
  }
}

/** @throws `INVALID_CONFIG` for an empty pattern or an invalid rate. */
export function assertRateLimits(limits: Readonly<Record<string, RateLimit>>): void {
  for (const [pattern, limit] of Object.entries(limits)) {
    const name = `OutboxConfig: rateLimit '${pattern}'`;
    if (pattern === '')
      throw new OutboxError('INVALID_CONFIG', `${name}: an empty pattern matches nothing; use '*'`);
    assertKnownOptions(name, limit, { perSecond: true });
    if (!(typeof limit.perSecond === 'number' && limit.perSecond > 0 && Number.isFinite(limit.perSecond)))
      throw new OutboxError(
        'INVALID_CONFIG',
        `${name}: perSecond must be above 0, got ${String(limit.perSecond)}`,
      );
  }
}

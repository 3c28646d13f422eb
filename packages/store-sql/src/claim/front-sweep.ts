import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import { FRONT_SEARCH_INTERVAL_MS } from './front-search.js';
import { type LookAt, type Walk, walkFrom } from './skipping-search.js';

/** Maximum windows that a sweep examines every second… */
const WINDOWS = 4;
/** …each as if for a batch of this many rows, 7,500 rows in all: larger batches must not wait longer for the sweep. */
const MAX_BATCH = 250;

interface Sweep extends Walk {
  /** Whether it went from the front to the end, and left nothing. */
  readonly isWhole: boolean;
}

/** Walks once more through the rows that a search has passed, a few windows every second: some may be claimable now. */
export class FrontSweep {
  readonly #clock: Clock;
  #place: DuePlace | undefined;
  #sweptAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweptAtMs = clock.monotonicMs();
  }

  /** Sweeps up to `end`, then from the front again. */
  async continue(end: DuePlace | undefined, claim: Claim, look: LookAt): Promise<Sweep | undefined> {
    const now = this.#clock.monotonicMs();
    if (!end || now - this.#sweptAtMs < FRONT_SEARCH_INTERVAL_MS) return undefined;
    this.#sweptAtMs = now;
    const from = this.#place;
    const part = { ...claim, limit: Math.min(claim.limit, MAX_BATCH) };
    const walk = await walkFrom({ from, growth: 1 }, part, WINDOWS, look);
    this.#place = walk.isAtEnd || isBehind(walk.end, end) ? undefined : walk.end;
    return { ...walk, isWhole: !from && walk.isAtEnd && !walk.isEnough };
  }
}

function isBehind(place: DuePlace | undefined, other: DuePlace): boolean {
  if (!place) return false;
  const later = Number(place.availableAt) - Number(other.availableAt);
  return later > 0 || (later === 0 && Number(place.seq) > Number(other.seq));
}

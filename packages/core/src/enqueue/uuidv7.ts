import { randomUUID } from 'node:crypto';
import type { Random } from '../message/retry-policy.js';

export interface Uuidv7Options {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /** For repeatable ids in tests. Default: cryptographic randomness. */
  readonly random?: Random;
}

/** Twelve bits beside the timestamp count within a millisecond, which keeps ids of one process in order. */
const COUNTER_LIMIT = 0x1000;

/** A source of UUIDv7s, each greater than the one before, also when the clock goes back. */
export function createUuidv7({ now = Date.now, random }: Uuidv7Options = {}): () => string {
  const randomUuid = random ? () => uuidOf(random) : randomUUID;
  let lastMs = -1;
  let counter = 0;
  let time = '';
  return () => {
    const ms = now();
    // Version 4 has its random bits, behind the same variant, where version 7 has them: its end is ours.
    const uuid = randomUuid();
    if (ms > lastMs) {
      lastMs = ms;
      time = timeText(ms);
      // Start low, so that thousands fit into this millisecond before the timestamp has to run ahead.
      counter = Number.parseInt(uuid.slice(0, 3), 16) & 0x3ff;
    } else if (++counter === COUNTER_LIMIT) {
      lastMs += 1;
      time = timeText(lastMs);
      counter = 0;
    }
    return `${time}-7${counter.toString(16).padStart(3, '0')}-${uuid.slice(19)}`;
  };
}

function timeText(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** A UUID of version 4. */
function uuidOf(random: Random): string {
  return 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx'.replace(/[xy]/g, (place) => {
    const digit = Math.floor(random() * 16);
    return (place === 'y' ? (digit & 0x3) | 0x8 : digit).toString(16);
  });
}

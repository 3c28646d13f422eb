import { randomUUID } from 'node:crypto';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import type { Random } from '../message/retry-policy.js';

export interface Uuidv7Options {
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** For repeatable ids in tests. @default cryptographic randomness */
  readonly random?: Random;
}

const OPTION_NAMES: OptionNames<Uuidv7Options> = { now: true, random: true };

/** The twelve bits after the timestamp count within a millisecond, which keeps the ids of a process in order. */
const COUNTER_LIMIT = 0x1000;

/**
 * Returns a generator of UUIDv7s. Each is greater than the one before, even if the clock goes back.
 *
 * @throws `INVALID_CONFIG` for an unknown option.
 */
export function createUuidv7(options: Uuidv7Options = {}): () => string {
  assertKnownOptions('createUuidv7', options, OPTION_NAMES);
  const { now = Date.now, random } = options;
  const randomUuid = random ? () => uuidv4Of(random) : randomUUID;
  let lastMs = -1;
  let counter = 0;
  let time = '';
  return () => {
    const ms = now();
    // UUIDv4 and UUIDv7 have the same variant and random bits at the end, so reuse those.
    const uuid = randomUuid();
    if (ms > lastMs) {
      lastMs = ms;
      time = timeText(ms);
      // Start low, so that thousands of ids fit into a millisecond before the timestamp has to run ahead.
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

function uuidv4Of(random: Random): string {
  return 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx'.replace(/[xy]/g, (place) => {
    const digit = Math.floor(random() * 16);
    return (place === 'y' ? (digit & 0x3) | 0x8 : digit).toString(16);
  });
}

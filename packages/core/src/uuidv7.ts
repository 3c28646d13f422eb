import { randomFillSync } from 'node:crypto';
import type { Random } from './retry-policy.js';

export interface Uuidv7Options {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /** For repeatable ids in tests. Default: cryptographic randomness. */
  readonly random?: Random;
}

/** Asking the operating system for 16 bytes costs more than all the rest: fetch many at once. */
const POOL_BYTES = 16 * 256;
/** Twelve bits beside the timestamp count within a millisecond, which keeps ids of one process in order. */
const COUNTER_LIMIT = 0x1000;

/** A source of UUIDv7s, each greater than the one before, also when the clock goes back. */
export function createUuidv7(options: Uuidv7Options = {}): () => string {
  const now = options.now ?? Date.now;
  const bytes = randomByteSource(options.random);
  let lastMs = -1;
  let counter = 0;
  return () => {
    const ms = now();
    const random = bytes();
    if (ms > lastMs) {
      lastMs = ms;
      // Start low, so that thousands fit into this millisecond before the timestamp has to run ahead.
      counter = random.readUInt16BE(8) & 0x3ff;
    } else if (++counter === COUNTER_LIMIT) {
      lastMs += 1;
      counter = 0;
    }
    return format(lastMs, counter, random);
  };
}

function format(ms: number, counter: number, random: Buffer): string {
  const time = ms.toString(16).padStart(12, '0');
  const variant = ((random.readUInt16BE(0) & 0x3fff) | 0x8000).toString(16);
  const tail = random.toString('hex', 2, 8);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${variant}-${tail}`;
}

/** Sixteen bytes a call. */
function randomByteSource(random: Random | undefined): () => Buffer {
  const pool = Buffer.allocUnsafe(POOL_BYTES);
  let offset = POOL_BYTES;
  return () => {
    if (offset === POOL_BYTES) {
      if (random) for (let index = 0; index < POOL_BYTES; index++) pool[index] = Math.floor(random() * 256);
      else randomFillSync(pool);
      offset = 0;
    }
    offset += 16;
    return pool.subarray(offset - 16, offset);
  };
}

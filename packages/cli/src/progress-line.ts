import { cutTo } from './table.js';

export interface Progress {
  readonly done: number;
  readonly pending: number;
  readonly failed: number;
  readonly dead: number;
}

const MAX_BAR = 40;

/** Returns `[########------------] 40% 400/1000 failed=2 dead=0`, cut to the width of the terminal. */
export function progressLine({ done, pending, failed, dead }: Progress, columns: number): string {
  const total = done + pending;
  const share = total === 0 ? 1 : done / total;
  const text = `${Math.floor(share * 100)}% ${done}/${total} failed=${failed} dead=${dead}`;
  const room = Math.min(MAX_BAR, columns - text.length - 4);
  // The last column stays free: a full line would wrap, and could not be overwritten.
  if (room < 5) return cutTo(text, columns - 1);
  const filled = Math.floor(share * room);
  return `[${'#'.repeat(filled)}${'-'.repeat(room - filled)}] ${text}`;
}

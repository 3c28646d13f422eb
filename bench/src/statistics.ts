/** Between the two in the middle where there are two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** The value that this part of all lies below. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN;
}

/** Counts per second of `work`. */
export async function rateOf(work: () => Promise<number>): Promise<number> {
  const startedAt = performance.now();
  const count = await work();
  return count / ((performance.now() - startedAt) / 1_000);
}

/** Three digits that matter: 0.93, 4.52, 12.3, 31,062. */
export function figure(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(size < 10 ? 2 : 1);
}

export function count(value: number): string {
  return value.toLocaleString('en');
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

/** Returns `12 s`, `3 min`, `2 h` or `5 d`: the largest unit of which there are two. */
export function durationText(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, unitMs]) => ms >= 2 * unitMs) ?? ['s', 1_000];
  return `${Math.round(ms / unitMs)} ${unit}`;
}

/** Returns `12 s ago`. */
export function agoText(ms: number): string {
  return `${durationText(ms)} ago`;
}

import type { Counters } from './counters.js';
import { bar, cut, grouped } from './layout.js';

const NAME_WIDTH = 14;
const COUNT_WIDTH = 7;
const MAX_BAR = 34;
/** From here on a line has room for its bar and what stands behind. */
const COLUMNS_FOR_BARS = 60;

/** For logs: one line. */
export function statusLine(counters: Counters): string {
  const { committed, rolledBack, delivered, pending, failedTries, dead } = counters;
  return `committed ${committed}, rolled back ${rolledBack}, delivered ${delivered}, pending ${pending}, failed tries ${failedTries}, dead ${dead}`;
}

/** For a terminal: the same lines every time, none wider than `columns`. */
export function statusBlock(counters: Counters, isAKilled: boolean, columns: number): string[] {
  const { committed, rolledBack, delivered, pending, failedTries, dead, byA, byB, takenOver } = counters;
  const total = Math.max(1, committed);
  const width = Math.min(MAX_BAR, columns - NAME_WIDTH - COUNT_WIDTH - 24);
  const barOf = (count: number): string => (columns < COLUMNS_FOR_BARS ? '' : bar(count / total, width));
  const lines = [
    line('committed', committed, barOf(committed), `rolled back ${grouped(rolledBack)}`),
    line('delivered', delivered, barOf(delivered), `failed tries ${grouped(failedTries)}`),
    line('pending', pending, barOf(pending), `dead ${grouped(dead)}`),
    line('dispatcher A', byA, barOf(byA), isAKilled ? 'killed' : 'running'),
    line('dispatcher B', byB, barOf(byB), takenOver > 0 ? `took over ${grouped(takenOver)}` : 'running'),
  ];
  // The last column stays free: a full line would wrap, and could not be drawn over.
  return lines.map((text) => cut(text, columns - 1));
}

function line(name: string, count: number, drawn: string, rest: string): string {
  const parts = [`  ${name.padEnd(NAME_WIDTH)}${grouped(count).padStart(COUNT_WIDTH)}`, drawn, rest];
  return parts.filter((part) => part !== '').join('  ');
}

import { figure } from '../statistics.js';
import { type CaseResult, middle, type Results } from './results.js';

/** Which columns are drawn: the question of each panel, and which way is good. */
const PANELS = [
  { id: 'drain', column: '1 process', hint: 'more is better' },
  { id: 'enqueue', column: '10 at once, of without', hint: 'more is better' },
  { id: 'latency', column: 'p50', hint: 'less is better' },
  { id: 'latency', column: 'p99', hint: 'less is better' },
] as const;

const WIDTH = 860;
const LABELS = 300;
const BARS = 420;
const ROW = 20;
const HEAD = 44;

interface Bar {
  readonly name: string;
  readonly middle: number;
  readonly low: number;
  readonly high: number;
  readonly isOurs: boolean;
}

/** Bars with the lowest and the highest round as whiskers; readable on a light and on a dark page. */
export function plot({ cases, subjects }: Results): string {
  const ours = new Set(subjects.filter(({ isOurs }) => isOurs).map(({ name }) => name));
  const panels: string[] = [];
  let top = 0;
  for (const { id, column, hint } of PANELS) {
    const found = cases.find((one) => one.id === id);
    const bars = found ? barsOf(found, column, ours) : [];
    if (!found || bars.length === 0) continue;
    const unit = found.columns.find(({ name }) => name === column)?.unit ?? '';
    panels.push(panel(top, `${found.title}: ${column}, ${unit} (${hint})`, bars));
    top += HEAD + bars.length * ROW + 16;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" font-family="sans-serif" font-size="12">`,
    '<title>Postcommit beside its alternatives</title>',
    `<rect width="${WIDTH}" height="${top}" fill="#ffffff"/>`,
    ...panels,
    '</svg>\n',
  ].join('\n');
}

function barsOf(one: CaseResult, column: string, ours: ReadonlySet<string>): Bar[] {
  return one.lines.flatMap(({ line, cells }) => {
    const cell = cells[column];
    const value = middle(one.lines, [line, column]);
    if (value === undefined || cell === undefined || typeof cell === 'string') return [];
    const range = { low: Math.min(...cell), high: Math.max(...cell) };
    return [{ name: line, middle: value, ...range, isOurs: ours.has(line) }];
  });
}

function panel(top: number, title: string, bars: readonly Bar[]): string {
  // A bar longer than four times Postcommit's longest is cut; its figure is beside it.
  const most = Math.max(...bars.map(({ high }) => high));
  const own = bars.filter(({ isOurs }) => isOurs).map(({ high }) => high);
  const end = own.length === 0 ? most : Math.min(most, 4 * Math.max(...own));
  const x = (value: number): number => LABELS + (Math.min(value, end) / end) * BARS;
  const rows = bars.map((bar, index) => row(top + HEAD + index * ROW, bar, x, bar.high > end));
  const heading = `<text x="8" y="${top + 26}" font-size="14" font-weight="bold" fill="#222222">${escaped(title)}</text>`;
  return [heading, ...rows].join('\n');
}

function row(y: number, bar: Bar, x: (value: number) => number, isCut: boolean): string {
  const [from, to, middleY] = [x(bar.low), x(bar.high), y + ROW / 2];
  const label = `${figure(bar.middle)}${isCut ? ' (bar cut)' : ''}`;
  return [
    `<text x="${LABELS - 8}" y="${middleY + 4}" text-anchor="end" fill="#222222">${escaped(bar.name)}</text>`,
    `<rect x="${LABELS}" y="${y + 3}" width="${round(x(bar.middle) - LABELS)}" height="${ROW - 6}" fill="${bar.isOurs ? '#1f6feb' : '#a8b0ba'}"/>`,
    `<path d="M${round(from)} ${middleY}H${round(to)}M${round(from)} ${middleY - 4}v8M${round(to)} ${middleY - 4}v8" stroke="#222222" fill="none"/>`,
    `<text x="${round(to) + 8}" y="${middleY + 4}" fill="#222222">${label}</text>`,
  ].join('\n');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

import { type Server, settleDown } from './place.js';
import type { OpenSubject, Subject } from './subject.js';

/** One measurement: sets up what it needs and gives a rate per second. */
export type Measurement = (subject: OpenSubject, settle: () => Promise<void>) => Promise<number>;

export interface Line {
  readonly name: string;
  readonly subject: Subject;
  readonly measurement: Measurement;
}

export interface Result {
  readonly name: string;
  /** Per second, one for each round. */
  readonly rates: readonly number[];
}

/**
 * Rounds are interleaved: a machine that slows down slows all lines alike. Each begins with another line: what the
 * one before left to do, dropping its database for one, falls on nobody in particular.
 */
export async function measure(server: Server, lines: readonly Line[], rounds: number): Promise<Result[]> {
  const rates = new Map(lines.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    const start = round % lines.length;
    for (const { name, subject, measurement } of [...lines.slice(start), ...lines.slice(0, start)]) {
      const rate = await server.withPlace(async (place) => {
        const open = await subject.open(place);
        try {
          return await measurement(open, () => settleDown(place));
        } finally {
          await open.close();
        }
      });
      rates.get(name)?.push(rate);
      process.stderr.write(`  round ${round + 1}: ${name} ${Math.round(rate)}/s\n`);
    }
  }
  return lines.map(({ name }) => ({ name, rates: rates.get(name) ?? [] }));
}

/**
 * For work that waits for the disk, whose speed changes within seconds: every line has its database open, and short
 * slices take turns.
 */
export async function measureInSlices(
  server: Server,
  lines: readonly SlicedLine[],
  slices: number,
): Promise<Result[]> {
  const rates = new Map(lines.map(({ name }) => [name, [] as number[]]));
  const runAll = async (open: ReadonlyMap<SlicedLine, OpenSubject>): Promise<void> => {
    for (const [{ slice }, subject] of open) await slice(subject);
    for (let round = 0; round < slices; round++) {
      for (const [{ name, slice }, subject] of open) rates.get(name)?.push(await slice(subject));
    }
  };
  await openAll(server, lines, new Map(), runAll);
  return lines.map(({ name }) => ({ name, rates: rates.get(name) ?? [] }));
}

export interface SlicedLine {
  readonly name: string;
  readonly subject: Subject;
  /** One short stretch of work; gives its rate per second. */
  readonly slice: (subject: OpenSubject) => Promise<number>;
}

async function openAll(
  server: Server,
  [line, ...rest]: readonly SlicedLine[],
  open: ReadonlyMap<SlicedLine, OpenSubject>,
  work: (open: ReadonlyMap<SlicedLine, OpenSubject>) => Promise<void>,
): Promise<void> {
  if (!line) return work(open);
  await server.withPlace(async (place) => {
    const subject = await line.subject.open(place);
    await settleDown(place);
    try {
      await openAll(server, rest, new Map([...open, [line, subject]]), work);
    } finally {
      await subject.close();
    }
  });
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
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

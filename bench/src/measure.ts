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

/** Rounds are interleaved: a machine that slows down slows all lines alike. */
export async function measure(server: Server, lines: readonly Line[], rounds: number): Promise<Result[]> {
  const rates = new Map(lines.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, subject, measurement } of lines) {
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

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Counts per second of `work`. */
export async function rateOf(work: () => Promise<number>): Promise<number> {
  const startedAt = performance.now();
  const count = await work();
  return count / ((performance.now() - startedAt) / 1_000);
}

import { isEnding } from './at-end.js';
import type { Case, Cells, Result, Trial } from './case.js';
import type { OpenPlace, Server } from './place.js';
import { figure } from './statistics.js';

/**
 * Rounds are interleaved: a machine that slows down slows all lines alike. Each begins with another trial: what the
 * one before left to do, dropping its database for one, falls on nobody in particular.
 */
export async function runTrials(server: Server, { trials }: Case, rounds: number): Promise<Result[]> {
  const ledger = new Ledger();
  const kept = new Map<Trial, OpenPlace>();
  try {
    for (let round = 0; round < rounds; round++) {
      const start = round % Math.max(trials.length, 1);
      for (const trial of [...trials.slice(start), ...trials.slice(0, start)]) {
        const note = (text: string) => ledger.note(trial.line, `${trial.columns.join(', ')}: ${text}`);
        const cells = await runOnce(server, trial, kept, note).catch((error: unknown) =>
          failed(trial, error),
        );
        ledger.add(trial.line, cells);
        process.stderr.write(`  round ${round + 1}: ${trial.line}: ${spell(cells)}\n`);
      }
    }
  } finally {
    for (const place of kept.values()) await place.drop();
  }
  return ledger.results([...new Set(trials.map(({ line }) => line))]);
}

async function runOnce(
  server: Server,
  trial: Trial,
  kept: Map<Trial, OpenPlace>,
  note: (text: string) => void,
): Promise<Cells> {
  const place = kept.get(trial) ?? (await server.open());
  try {
    if (trial.prepare && !kept.has(trial)) {
      kept.set(trial, place);
      await trial.prepare(place);
    }
    return await trial.run(place, note);
  } finally {
    if (!kept.has(trial)) await place.drop();
  }
}

export const FAILED = 'failed: ';

/** One that fails does not cost the hours of the others; the table says so, and the run ends with code 1. */
function failed({ columns }: Trial, error: unknown): Cells {
  if (isEnding()) throw error;
  const why = error instanceof Error ? error.message : String(error);
  const text = `${FAILED}${why.replaceAll(/[\s|]+/g, ' ')}`;
  return Object.fromEntries(columns.map((column) => [column, text]));
}

function spell(cells: Cells): string {
  return Object.entries(cells)
    .map(([column, value]) => `${column} ${typeof value === 'number' ? figure(value) : `(${value})`}`)
    .join(', ');
}

class Ledger {
  readonly #cells = new Map<string, Map<string, number[] | string>>();
  readonly #notes = new Map<string, Set<string>>();

  add(line: string, cells: Cells): void {
    const known = this.#cells.get(line) ?? new Map<string, number[] | string>();
    this.#cells.set(line, known);
    for (const [column, value] of Object.entries(cells)) {
      const before = known.get(column) ?? [];
      // Words once are words for good: a median of the rounds that went well would hide those that didn't.
      if (typeof value === 'string' || typeof before === 'string')
        known.set(column, typeof value === 'string' ? value : before);
      else before.push(value);
      if (!known.has(column)) known.set(column, before);
    }
  }

  note(line: string, text: string): void {
    this.#notes.set(line, (this.#notes.get(line) ?? new Set()).add(text));
  }

  results(lines: readonly string[]): Result[] {
    return lines.map((line) => ({
      line,
      cells: Object.fromEntries(this.#cells.get(line) ?? []),
      notes: [...(this.#notes.get(line) ?? [])],
    }));
  }
}

import type { Setting, Trial, Words } from './case.js';
import type { Ability, Subject } from './subject.js';

export interface Lines {
  readonly trials: Trial[];
  readonly words: Words[];
}

export type TrialOf = (subject: Subject) => Omit<Trial, 'line' | 'columns'>;

/**
 * A trial for each subject that was asked for, is here, and can do what the columns need; for the others, words. An
 * ability that is not asked for by these columns does not matter to them.
 */
export function linesFor(
  { subjects, absent }: Setting,
  among: readonly Subject[],
  columns: readonly string[],
  abilities: readonly Ability[],
  trialOf: TrialOf,
): Lines {
  const asked = among.filter((subject) => subjects.includes(subject));
  const reason = (subject: Subject): string | undefined =>
    absent.get(subject) ?? abilities.map((ability) => subject.cannot?.[ability]).find(Boolean);
  return {
    trials: asked
      .filter((subject) => reason(subject) === undefined)
      .map((subject) => ({ line: subject.name, columns, ...trialOf(subject) })),
    words: asked.flatMap((subject) => {
      const text = reason(subject);
      return text === undefined ? [] : columns.map((column) => ({ line: subject.name, column, text }));
    }),
  };
}

export function joined(parts: readonly Lines[]): Lines {
  return { trials: parts.flatMap(({ trials }) => trials), words: parts.flatMap(({ words }) => words) };
}

/** So much of a full size, but at least something. */
export function scaled({ scale }: Setting, full: number, least = 1): number {
  return Math.max(least, Math.round(full * scale));
}

import type { Place, Subject } from './subject.js';

/** A question, and the figures that answer it: a table of lines and columns. */
export interface Case {
  /** For `--case`. */
  readonly id: string;
  readonly title: string;
  /** What is measured, from when to when, and what a reader may miss. */
  readonly about: string;
  readonly columns: readonly Column[];
  readonly trials: readonly Trial[];
  /** In words, where a line has no figure. */
  readonly words?: readonly Words[];
  /** What must hold between the medians of two cells. */
  readonly targets: readonly Target[];
}

export interface Column {
  readonly name: string;
  readonly unit: string;
  /** Such as milliseconds; more is better otherwise. */
  readonly isLessBetter?: boolean;
}

/** One cell's figure, or words in its place; by the name of its column. */
export type Cells = Readonly<Record<string, number | string>>;

export interface Trial {
  readonly line: string;
  readonly columns: readonly string[];
  /** About how long one round takes at full size. */
  readonly seconds: number;
  /** Runs once, before the first round; the place is then kept for all rounds. Without it each round has a new one. */
  prepare?(place: Place): Promise<void>;
  run(place: Place, note: (text: string) => void): Promise<Cells>;
}

export interface Words {
  readonly line: string;
  readonly column: string;
  readonly text: string;
}

/** The cell `of` divided by the cell `to`; by a number where `to` is one. Cells are named by line and column. */
export interface Target {
  readonly of: CellName;
  readonly to: CellName | number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

export type CellName = readonly [line: string, column: string];

export interface Result {
  readonly line: string;
  /** For each column one figure a round, or words. */
  readonly cells: Readonly<Record<string, readonly number[] | string>>;
  readonly notes: readonly string[];
}

/** What the cases are made of. */
export interface Setting {
  /** Part of the full sizes. */
  readonly scale: number;
  /** Those that were asked for. */
  readonly subjects: readonly Subject[];
  /** Why a subject can't run on this machine. */
  readonly absent: ReadonlyMap<Subject, string>;
}

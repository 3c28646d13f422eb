import type { Case, CellName, Column, Result, Target, Words } from '../case.js';
import type { Machine } from '../machine.js';
import { median } from '../statistics.js';

/** Everything a run found: what `--json` writes, and what tables and plot are made of. */
export interface Results {
  readonly measuredOn: string;
  readonly minutes: number;
  readonly machine: Machine;
  /** How each line was set up, and which are ours. */
  readonly subjects: readonly SubjectResult[];
  readonly cases: readonly CaseResult[];
}

export interface SubjectResult {
  readonly name: string;
  readonly settings: string;
  readonly isOurs: boolean;
  readonly isLimit: boolean;
  readonly isApart?: boolean;
  readonly absent?: string;
}

/** What was asked for. */
export interface Run {
  readonly command: string;
  readonly rounds: number;
  readonly scale: number;
}

export interface CaseResult {
  readonly id: string;
  readonly run: Run;
  readonly title: string;
  readonly about: string;
  readonly columns: readonly Column[];
  readonly lines: readonly Result[];
  readonly targets: readonly Verdict[];
}

export interface Verdict extends Target {
  readonly ratio: number;
  readonly holds: boolean;
}

/** Measured lines and those that have only words, in the order of the subjects. */
export function caseResult(
  one: Case,
  run: Run,
  measured: readonly Result[],
  order: readonly string[],
): CaseResult {
  const { id, title, about, columns } = one;
  const lines = withWords(measured, one.words ?? []);
  const place = (line: string): number => (order.includes(line) ? order.indexOf(line) : order.length);
  return {
    id,
    run,
    title,
    about,
    columns,
    lines: [...lines].sort((a, b) => place(a.line) - place(b.line)),
    targets: one.targets.flatMap((target) => verdict(target, lines)),
  };
}

/** Several runs as one: the cases of all, each from the last run that has it. */
export function joinedResults(runs: readonly [Results, ...Results[]]): Results {
  const lastOf = <T>(all: readonly T[], key: (each: T) => string): T[] => [
    ...new Map(all.map((each) => [key(each), each])).values(),
  ];
  return {
    ...runs[0],
    minutes: runs.reduce((sum, { minutes }) => sum + minutes, 0),
    subjects: lastOf(
      runs.flatMap(({ subjects }) => subjects),
      ({ name }) => name,
    ),
    cases: lastOf(
      runs.flatMap(({ cases }) => cases),
      ({ id }) => id,
    ),
  };
}

function withWords(measured: readonly Result[], words: readonly Words[]): Result[] {
  const names = new Set([...measured.map(({ line }) => line), ...words.map(({ line }) => line)]);
  return [...names].map((line) => {
    const known = measured.find((result) => result.line === line);
    const told = words.filter((word) => word.line === line).map(({ column, text }) => [column, text]);
    return {
      line,
      cells: { ...Object.fromEntries(told), ...known?.cells },
      notes: known?.notes ?? [],
    };
  });
}

/** None where one of the two cells was not measured. */
function verdict(target: Target, lines: readonly Result[]): Verdict[] {
  const { of, to, atLeast = 0, atMost = Number.POSITIVE_INFINITY } = target;
  const base = typeof to === 'number' ? to : middle(lines, to);
  const value = middle(lines, of);
  if (base === undefined || value === undefined) return [];
  const ratio = value / base;
  return [{ ...target, ratio, holds: ratio >= atLeast && ratio <= atMost }];
}

/** The median of a cell; undefined where it has no figure. */
export function middle(lines: readonly Result[], [line, column]: CellName): number | undefined {
  const cell = lines.find((result) => result.line === line)?.cells[column];
  return cell === undefined || typeof cell === 'string' || cell.length === 0 ? undefined : median(cell);
}

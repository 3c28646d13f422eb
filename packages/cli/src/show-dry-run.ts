import type { OutboxRow } from '@postcommit/core';
import type { CommandOutput } from './command-output.js';
import { rowJson, rowLine, rowTable } from './row-format.js';

export interface DryRun {
  readonly command: string;
  /** What would be done: `wouldRequeue`. */
  readonly verb: string;
  /** The rows it would be done to: all that match, or as many as the limit allows. */
  readonly rows: readonly OutboxRow[];
  /** How many rows match. */
  readonly matching: number;
}

/** Shows the rows that a command would touch, and how many match. */
export function showDryRun(output: CommandOutput, { command, verb, rows, matching }: DryRun): void {
  const summary = `${command} ${verb}=${rows.length} matching=${matching}`;
  output.show({
    plain: [...rows.map((row) => rowLine(row)), summary],
    json: { [verb]: rows.length, matching, rows: rows.map((row) => rowJson(row)) },
    terminal: (columns) => [...rowTable(rows, columns), summary],
  });
}

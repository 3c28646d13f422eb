import type { OutboxRow } from '@postcommit/core';
import type { CommandOutput } from './command-output.js';
import { rowJson, rowLine, rowTable } from './row-format.js';

export interface DryRun {
  readonly command: string;
  /** The name of the count, e.g. `wouldRequeue`. */
  readonly verb: string;
  /** The rows that the command would change: those that match, up to the limit. */
  readonly rows: readonly OutboxRow[];
  /** How many rows match. */
  readonly matching: number;
}

/** Shows the rows that a command would change, and how many match. */
export function showDryRun(output: CommandOutput, { command, verb, rows, matching }: DryRun): void {
  const summary = `${command} ${verb}=${rows.length} matching=${matching}`;
  output.show({
    plain: [...rows.map((row) => rowLine(row)), summary],
    json: { [verb]: rows.length, matching, rows: rows.map((row) => rowJson(row)) },
    terminal: (columns) => [...rowTable(rows, columns), summary],
  });
}

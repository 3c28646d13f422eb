import type { OutboxRow } from '@postcommit/core';
import type { CommandOutput } from './command-output.js';
import { rowJson, rowLine, rowTable } from './row-format.js';

export interface DryRun {
  readonly command: string;
  /** What would be done: `wouldRequeue`. */
  readonly verb: string;
  readonly limit: number;
}

/**
 * Shows what a dry run found: `rows` is one more than the limit when there are more. Which of them a limit would leave
 * out is not ours to say, so then only the number is shown.
 */
export function showMatching(output: CommandOutput, rows: readonly OutboxRow[], dryRun: DryRun): void {
  const isMore = rows.length > dryRun.limit;
  const count = Math.min(rows.length, dryRun.limit);
  const shown = isMore ? [] : rows;
  const summary = `${dryRun.command} ${dryRun.verb}=${count}${isMore ? ` limit=${dryRun.limit}` : ''}`;
  output.show({
    plain: [...shown.map((row) => rowLine(row)), summary],
    json: { [dryRun.verb]: count, limited: isMore, rows: shown.map((row) => rowJson(row)) },
    terminal: (columns) => [...(isMore ? [] : rowTable(rows, columns)), summary],
  });
}

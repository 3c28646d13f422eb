import type { DeadReason, OutboxState, RowFilter } from '@postcommit/core';
import type { Command, OptionValues } from 'commander';
import { parseTime } from './parse-options.js';

const STATES: readonly OutboxState[] = ['pending', 'dispatched', 'dead'];
const REASONS: readonly DeadReason[] = [
  'exhausted',
  'permanent',
  'crashed',
  'expired',
  'no-listener',
  'undecodable',
  'cancelled',
];

const FIELDS = [
  'state',
  'topic',
  'key',
  'error',
  'reason',
  'createdAfter',
  'createdBefore',
  'deadAfter',
  'deadBefore',
] as const satisfies readonly (keyof RowFilter)[];

export function addStateOption(command: Command): void {
  command.addOption(command.createOption('--state <state>', 'only rows in this state').choices(STATES));
}

/** Adds every filter except the state. */
export function addFilterOptions(command: Command): void {
  command
    .option('--topic <topic>', 'only rows of this topic')
    .option('--key <key>', 'only rows with this key')
    .option('--error <text>', 'only rows whose last error contains this')
    .addOption(
      command.createOption('--reason <reason>', 'only rows that died for this reason').choices(REASONS),
    )
    .option('--created-after <time>', 'only rows enqueued at this time or later', parseTime)
    .option('--created-before <time>', 'only rows enqueued before this time', parseTime)
    .option('--dead-after <time>', 'only rows that died at this time or later', parseTime)
    .option('--dead-before <time>', 'only rows that died before this time', parseTime);
}

export function rowFilterOf(options: OptionValues): RowFilter {
  return Object.fromEntries(
    FIELDS.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  );
}

export function isFiltering(filter: RowFilter): boolean {
  return Object.keys(filter).length > 0;
}

import { OutboxStore } from '@postcommit/core';
import { CommandError, ExitCode } from '../command-error.js';
import type { CommandContext, OutboxCommand } from '../outbox-command.js';
import { parseDurationMs } from '../parse-options.js';

interface PurgeOptions {
  readonly olderThan: number;
  readonly dead?: boolean;
  readonly dryRun?: boolean;
}

export const purgeCommand: OutboxCommand = {
  name: 'outbox:purge',
  description: 'Delete dispatched rows older than a given age',
  configure(command) {
    command
      .requiredOption('--older-than <duration>', 'for example 7d', parseDurationMs)
      .option('--dead', 'delete dead rows instead, by their time of death')
      .option('--dry-run', 'with --dead: only count them');
  },
  async run(context) {
    const { app, options, output } = context;
    const { olderThan: ageMs, dead, dryRun }: PurgeOptions = options as PurgeOptions;
    if (dryRun && !dead) throw new CommandError('--dry-run needs --dead', ExitCode.usage);
    if (dryRun) return previewPurge(context, ageMs);
    const store = app.get(OutboxStore);
    const purged = await (dead ? store.purgeDead({ ageMs }) : store.purgeDispatched({ ageMs }));
    const state = dead ? 'dead' : 'dispatched';
    output.show({ plain: [`outbox:purge ${state}=${purged}`], json: { [state]: purged } });
  },
};

/** Uses the clock of this process; the purge itself uses the clock of the database. */
async function previewPurge({ app, output }: CommandContext, ageMs: number): Promise<void> {
  const deadBefore = new Date(Date.now() - ageMs);
  const { dead: wouldPurge } = await app.get(OutboxStore).count({ state: 'dead', deadBefore });
  output.show({ plain: [`outbox:purge wouldPurge=${wouldPurge}`], json: { wouldPurge } });
}

import { OutboxStore } from '@postcommit/core';
import type { OutboxCommand } from '../outbox-command.js';
import { parseDurationMs } from '../parse-options.js';

interface PurgeOptions {
  readonly olderThan: number;
  readonly dead?: boolean;
}

export const purgeCommand: OutboxCommand = {
  name: 'outbox:purge',
  description: 'Delete dispatched rows of a certain age',
  configure(command) {
    command
      .requiredOption('--older-than <duration>', 'for example 7d', parseDurationMs)
      .option('--dead', 'delete dead rows instead, by the time they died');
  },
  async run({ app, options, output }) {
    const { olderThan: ageMs, dead }: PurgeOptions = options as PurgeOptions;
    const store = app.get(OutboxStore);
    const purged = await (dead ? store.purgeDead({ ageMs }) : store.purgeDispatched({ ageMs }));
    const state = dead ? 'dead' : 'dispatched';
    output.show({ plain: [`outbox:purge ${state}=${purged}`], json: { [state]: purged } });
  },
};

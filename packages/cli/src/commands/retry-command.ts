import { OutboxStore, type RowFilter } from '@postcommit/core';
import { CommandError, ExitCode } from '../command-error.js';
import type { CommandContext, OutboxCommand } from '../outbox-command.js';
import { parseLimit } from '../parse-options.js';
import { word } from '../printable.js';
import { addFilterOptions, addStateOption, isFiltering, rowFilterOf } from '../row-filter-options.js';
import { showMatching } from '../show-matching.js';

interface RetryOptions {
  readonly limit: number;
  readonly dryRun?: boolean;
}

export const retryCommand: OutboxCommand = {
  name: 'outbox:retry',
  description: 'Make a row pending again, or those that match a filter',
  configure(command) {
    command.argument('[id]', 'the row');
    addStateOption(command);
    addFilterOptions(command);
    command
      .option('--limit <n>', 'with a filter: at most so many rows, oldest first', parseLimit, 100)
      .option('--dry-run', 'with a filter: only say which rows match');
  },
  async run(context) {
    const [id] = context.args;
    const filter = rowFilterOf(context.options);
    if ((id === undefined) === !isFiltering(filter)) {
      throw new CommandError('name either an id or a filter, for example --topic', ExitCode.usage);
    }
    await (id === undefined ? retryMatching(context, filter) : retryOne(context, id));
  },
};

async function retryOne({ app, options, output }: CommandContext, id: string): Promise<void> {
  if (options.dryRun) throw new CommandError('--dry-run goes with a filter, not with an id', ExitCode.usage);
  await app.get(OutboxStore).requeue(id);
  output.show({ plain: [`outbox:retry id=${word(id)} requeued`], json: { id, requeued: true } });
}

async function retryMatching({ app, options, output }: CommandContext, filter: RowFilter): Promise<void> {
  const { limit, dryRun }: RetryOptions = options as RetryOptions;
  const store = app.get(OutboxStore);
  if (dryRun) {
    // Dead ones unless the filter names a state: as requeueWhere has it.
    const rows = await store.peek({ state: 'dead', ...filter }, limit + 1);
    return showMatching(output, rows, { command: 'outbox:retry', verb: 'wouldRequeue', limit });
  }
  const requeued = await store.requeueWhere(filter, limit);
  output.show({ plain: [`outbox:retry requeued=${requeued}`], json: { requeued } });
}

import { type BackoffOptions, OutboxStore, type RequeueOptions, type RowFilter } from '@postcommit/core';
import { requeueFilter } from '@postcommit/core/internal';
import type { OptionValues } from 'commander';
import { CommandError, ExitCode } from '../command-error.js';
import type { CommandContext, OutboxCommand } from '../outbox-command.js';
import { parseBackoff, parseLimit } from '../parse-options.js';
import { word } from '../printable.js';
import { addFilterOptions, addStateOption, isFiltering, rowFilterOf } from '../row-filter-options.js';
import { showDryRun } from '../show-dry-run.js';

interface RetryCommandOptions {
  readonly limit: number;
  readonly dryRun?: boolean;
  readonly attempts?: number;
  readonly backoff?: BackoffOptions;
}

export const retryCommand: OutboxCommand = {
  name: 'outbox:retry',
  description: 'Make a row pending again, or all rows that match a filter',
  configure(command) {
    command.argument('[id]', 'the row');
    addStateOption(command);
    addFilterOptions(command);
    command
      .option('--limit <n>', 'with a filter: maximum number of rows, oldest first', parseLimit, 100)
      .option('--attempts <n>', 'new maximum number of attempts', parseLimit)
      .option(
        '--backoff <spec>',
        'new backoff: fixed:5s, exponential:1s:1h, or the name of a strategy',
        parseBackoff,
      )
      .option('--dry-run', 'with a filter: only show the rows, and how many match');
  },
  async run(context) {
    const [id] = context.args;
    const filter = rowFilterOf(context.options);
    if ((id === undefined) === !isFiltering(filter)) {
      throw new CommandError('pass either an id or a filter, for example --topic', ExitCode.usage);
    }
    await (id === undefined ? retryMatching(context, filter) : retryOne(context, id));
  },
};

async function retryOne({ app, options, output }: CommandContext, id: string): Promise<void> {
  if (options.dryRun)
    throw new CommandError('--dry-run needs a filter; it does not work with an id', ExitCode.usage);
  await app.get(OutboxStore).requeue(id, policyOf(options));
  output.show({ plain: [`outbox:retry id=${word(id)} requeued`], json: { id, requeued: true } });
}

async function retryMatching(context: CommandContext, filter: RowFilter): Promise<void> {
  const { app, options, output } = context;
  const { limit, dryRun }: RetryCommandOptions = options as RetryCommandOptions;
  if (dryRun) return previewRetry(context, requeueFilter(filter), limit);
  const requeued = await app.get(OutboxStore).requeueWhere(filter, limit, policyOf(options));
  output.show({ plain: [`outbox:retry requeued=${requeued}`], json: { requeued } });
}

async function previewRetry(
  { app, output }: CommandContext,
  filter: RowFilter,
  limit: number,
): Promise<void> {
  const store = app.get(OutboxStore);
  const rows = await store.peek(filter, limit, { order: 'oldest' });
  const { total: matching } = await store.count(filter);
  showDryRun(output, { command: 'outbox:retry', verb: 'wouldRequeue', rows, matching });
}

function policyOf(options: OptionValues): RequeueOptions {
  const { attempts: maxAttempts, backoff }: RetryCommandOptions = options as RetryCommandOptions;
  return { retry: { maxAttempts, backoff } };
}

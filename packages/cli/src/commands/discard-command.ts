import { OutboxStore } from '@postcommit/core';
import { CommandError, ExitCode } from '../command-error.js';
import type { CommandContext, OutboxCommand } from '../outbox-command.js';
import { parseLimit } from '../parse-options.js';
import { addFilterOptions, isFiltering, rowFilterOf } from '../row-filter-options.js';
import { showDryRun } from '../show-dry-run.js';

interface DiscardOptions {
  readonly limit: number;
  readonly dryRun?: boolean;
}

export const discardCommand: OutboxCommand = {
  name: 'outbox:discard',
  description: 'Delete dead rows permanently, by id or by filter',
  configure(command) {
    command.argument('[ids...]', 'dead rows');
    addFilterOptions(command);
    command
      .option('--limit <n>', 'with a filter: maximum number of rows, latest first', parseLimit, 100)
      .option('--dry-run', 'with a filter: only show the rows, and how many match');
  },
  async run(context) {
    const isById = context.args.length > 0;
    if (isById === isFiltering(rowFilterOf(context.options))) {
      throw new CommandError('pass either ids or a filter, for example --topic', ExitCode.usage);
    }
    await (isById ? discardByIds(context) : discardMatching(context));
  },
};

async function discardByIds(context: CommandContext): Promise<void> {
  const { dryRun }: Partial<DiscardOptions> = context.options;
  if (dryRun) throw new CommandError('--dry-run needs a filter; it does not work with ids', ExitCode.usage);
  const ids = [...new Set(context.args)];
  const discarded = await discard(context, ids);
  if (discarded === ids.length) return;
  const which =
    ids.length === 1 ? `no dead row with id '${ids[0]}'` : notDead(ids.length - discarded, ids.length);
  throw new CommandError(which);
}

function notDead(missing: number, all: number): string {
  return `${missing} of ${all} ids ${missing === 1 ? 'is' : 'are'} not the id of a dead row`;
}

async function discardMatching(context: CommandContext): Promise<void> {
  const { limit, dryRun }: DiscardOptions = context.options as DiscardOptions;
  const filter = { ...rowFilterOf(context.options), state: 'dead' as const };
  const store = context.app.get(OutboxStore);
  const rows = await store.peek(filter, limit);
  if (dryRun) {
    const { total: matching } = await store.count(filter);
    return showDryRun(context.output, { command: 'outbox:discard', verb: 'wouldDiscard', rows, matching });
  }
  await discard(
    context,
    rows.map(({ id }) => id),
  );
}

async function discard({ app, output }: CommandContext, ids: readonly string[]): Promise<number> {
  const discarded = await app.get(OutboxStore).discard(ids);
  output.show({ plain: [`outbox:discard discarded=${discarded}`], json: { discarded } });
  return discarded;
}

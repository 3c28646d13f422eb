import {
  DispatchEvents,
  type DispatchSummary,
  isOutboxError,
  type OutboxApp,
  OutboxDispatcher,
  OutboxPauses,
  OutboxStore,
} from '@postcommit/core';
import { CommandError, ExitCode } from '../command-error.js';
import type { CommandOutput } from '../command-output.js';
import { DispatchLoop } from '../dispatch-loop.js';
import { Interruption } from '../interruption.js';
import type { CommandContext, OutboxCommand } from '../outbox-command.js';
import { parseLimit } from '../parse-options.js';
import { progressLine } from '../progress-line.js';
import { formatTable } from '../table.js';

interface DispatchOptions {
  readonly limit?: number;
  readonly loop?: boolean;
}

/** Counting more rows would slow down the dispatching. */
const MAX_COUNTED = 100_000;

export const dispatchCommand: OutboxCommand = {
  name: 'outbox:dispatch',
  description: 'Publish pending rows now',
  configure(command) {
    command
      .option('--limit <n>', 'rows per batch; default: batchSize of the configuration', parseLimit)
      .option('--loop', 'dispatch batches until no row is due');
  },
  async run(context) {
    const { limit, loop = false }: DispatchOptions = context.options;
    const destinationsAway = watchDestinations(context.app);
    const batches = new DispatchLoop(dispatcherOf(context.app), context.app.get(OutboxStore), limit);
    const exitCode = await dispatchUntilInterrupted(batches, context);
    showSummary(batches.total, context.output);
    await warnOfPauses(context);
    if (exitCode !== undefined) throw new CommandError('interrupted', exitCode);
    if (batches.isStuck) throw new CommandError('gave up: the remaining due rows keep failing');
    if (loop && (batches.endedUnavailable || destinationsAway.size > 0))
      throw new CommandError(onlyUnavailableLeft(destinationsAway));
  },
};

/** Otherwise it would look as if their rows were done. */
async function warnOfPauses({ app, output }: CommandContext): Promise<void> {
  const paused = app.has(OutboxPauses) ? await app.get(OutboxPauses).list() : [];
  if (paused.length === 0) return;
  const topics = paused.map(({ topic }) => `'${topic}'`).join(', ');
  output.warn(`left out, because they are paused: ${topics}`);
}

/** Returns the destinations that are away, kept up to date. */
function watchDestinations(app: OutboxApp): ReadonlySet<string> {
  const away = new Set<string>();
  const events = app.get(DispatchEvents);
  events.on('unavailable', ({ destination }) => away.add(destination));
  events.on('available', ({ destination }) => away.delete(destination));
  return away;
}

function onlyUnavailableLeft(destinations: ReadonlySet<string>): string {
  const names = [...destinations].map((name) => `'${name}'`).join(', ');
  return `gave up: only rows of destinations that are away are left${names && `: ${names}`}`;
}

/** Returns the exit code of the signal that interrupted it, if one did. */
async function dispatchUntilInterrupted(
  batches: DispatchLoop,
  { app, host, options, output }: CommandContext,
): Promise<number | undefined> {
  const { loop = false }: DispatchOptions = options;
  const interruption = new Interruption(
    () => output.warn('finishing this batch (press Ctrl-C again to abort)'),
    (exitCode) => host.exit(exitCode),
  );
  try {
    await batches.next();
    while (loop && interruption.exitCode === undefined && (await batches.hasMore())) {
      await showProgress(batches.total, app, output);
      await batches.next();
    }
    return interruption.exitCode;
  } finally {
    interruption.end();
    if (loop) output.endProgress();
  }
}

async function showProgress(total: DispatchSummary, app: OutboxApp, output: CommandOutput): Promise<void> {
  if (output.mode !== 'terminal') return;
  const { pending } = await app.get(OutboxStore).backlog(MAX_COUNTED);
  const { dispatched, failed, dead } = total;
  output.progress(progressLine({ done: dispatched + dead, pending, failed, dead }, output.columns));
}

function showSummary(total: DispatchSummary, output: CommandOutput): void {
  const { fenced, unavailable, ...counts } = total;
  const shown = { ...counts, ...(unavailable !== undefined && { unavailable }) };
  output.show({
    plain: [
      `outbox:dispatch ${Object.entries(shown)
        .map(([name, count]) => `${name}=${count}`)
        .join(' ')}`,
    ],
    json: { ...counts, fenced, ...(unavailable !== undefined && { unavailable }) },
    terminal: (columns) => formatTable(Object.keys(shown), [Object.values(shown).map(String)], columns),
  });
  if (fenced > 0) output.warn(`${fenced} claims were lost before their outcome could be recorded`);
}

function dispatcherOf(app: OutboxApp): OutboxDispatcher {
  try {
    return app.get(OutboxDispatcher);
  } catch (error) {
    if (!isOutboxError(error) || error.code !== 'MISSING_BINDING') throw error;
    throw new CommandError(
      'no publisher: add one in the config file, with createOutbox({ publisher }) or OutboxModule.forRoot({ publisher })',
      ExitCode.usage,
    );
  }
}

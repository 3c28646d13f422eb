import { type AdoptionPlan, OutboxSchema } from '@postcommit/core';
import { CommandError, ExitCode } from '../command-error.js';
import type { CommandContext } from '../outbox-command.js';

/** Shows what it takes to turn a foreign table into the outbox, and does it when somebody says yes. */
export async function adoptTable(plan: AdoptionPlan, context: CommandContext): Promise<void> {
  const { app, output } = context;
  if (output.mode !== 'json') output.show({ plain: planLines(plan), json: undefined });
  if (plan.obstacles.length > 0) {
    throw new CommandError(`${plan.problem}, and can't be adopted: ${plan.obstacles.join('; ')}`);
  }
  await confirm(plan, context);
  await app.get(OutboxSchema).adopt();
  output.show({
    plain: [`outbox:migrate adopted rows=${plan.rows}`],
    json: { ...plan, adopted: true },
  });
}

async function confirm(plan: AdoptionPlan, { host, options, output }: CommandContext): Promise<void> {
  if (options.yes) return;
  if (host.confirm && output.mode !== 'json') {
    if (await host.confirm('Adopt the table?')) return;
    throw new CommandError('nothing was changed');
  }
  if (output.mode === 'json') output.show({ plain: [], json: { ...plan, adopted: false } });
  throw new CommandError('nothing was changed: say --yes to adopt the table', ExitCode.usage);
}

/** As an SQL script whose comments say what it means. */
function planLines({ problem, rows, statements, isAtomic, obstacles }: AdoptionPlan): string[] {
  return [
    `-- ${problem}.`,
    ...(obstacles.length > 0
      ? obstacles.map((obstacle) => `-- In the way: ${obstacle}.`)
      : [...consequences(rows, isAtomic), ...statements.flatMap((text) => `${text};`.split('\n'))]),
  ];
}

function consequences(rows: number, isAtomic: boolean): string[] {
  return [
    `-- Existing rows: ${rows}. Each ends dispatched, since nothing can tell which of them were sent;`,
    '-- make those that were not pending again with outbox:retry. Retention deletes dispatched rows.',
    '-- Stop the application that writes to the table first.',
    isAtomic
      ? '-- All statements run in one transaction: if one fails, nothing has changed.'
      : '-- This database commits each statement by itself and can not undo it: make a backup first.',
  ];
}

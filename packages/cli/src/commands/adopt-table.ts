import { OutboxSchema } from '@postcommit/core';
import type { AdoptionPlan } from '@postcommit/core/internal';
import { CommandError, ExitCode } from '../command-error.js';
import type { CommandContext } from '../outbox-command.js';

/** Shows the plan that turns a foreign table into the outbox, and runs it after confirmation. */
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
  throw new CommandError('nothing was changed: pass --yes to adopt the table', ExitCode.usage);
}

/** Formats the plan as an SQL script with comments. */
function planLines({ problem, rows, statements, isAtomic, obstacles }: AdoptionPlan): string[] {
  return [
    `-- ${problem}.`,
    ...(obstacles.length > 0
      ? obstacles.map((obstacle) => `-- Obstacle: ${obstacle}.`)
      : [...consequences(rows, isAtomic), ...statements.flatMap((text) => `${text};`.split('\n'))]),
  ];
}

function consequences(rows: number, isAtomic: boolean): string[] {
  return [
    `-- Existing rows: ${rows}. Each is marked as dispatched, because it is unknown which were sent;`,
    '-- requeue those that were not sent with outbox:retry. Retention deletes dispatched rows.',
    '-- Stop the application that writes to the table first.',
    isAtomic
      ? '-- All statements run in one transaction: if one fails, nothing has changed.'
      : '-- This database commits each statement on its own and cannot undo it: make a backup first.',
  ];
}

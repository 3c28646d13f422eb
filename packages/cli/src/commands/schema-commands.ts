import { OutboxSchema } from '@postcommit/core';
import type { CommandContext, OutboxCommand } from '../outbox-command.js';
import { adoptTable } from './adopt-table.js';

export const schemaCommand: OutboxCommand = {
  name: 'outbox:schema',
  description: 'Print the statements that make an empty database ready',
  requires: [OutboxSchema],
  needsResources: false,
  async run({ app, output }) {
    const sql = app.get(OutboxSchema).print();
    output.show({ plain: sql.trimEnd().split('\n'), json: { sql } });
  },
};

export const migrateCommand: OutboxCommand = {
  name: 'outbox:migrate',
  description: 'Create the tables or bring them up to date; harmless when they are',
  requires: [OutboxSchema],
  configure(command) {
    command
      .option('--adopt', 'turn a table that is not ours into the outbox: shows the plan, and asks')
      .option('--yes', 'with --adopt: do it without asking');
  },
  async run(context) {
    const schema = context.app.get(OutboxSchema);
    const plan = context.options.adopt ? await schema.planAdoption() : undefined;
    await (plan ? adoptTable(plan, context) : migrate(context));
  },
};

async function migrate({ app, output }: CommandContext): Promise<void> {
  const schema = app.get(OutboxSchema);
  const problems = await schema.check();
  await schema.ensure();
  output.show({ plain: [`outbox:migrate mended=${problems.length}`], json: { mended: problems.length } });
}

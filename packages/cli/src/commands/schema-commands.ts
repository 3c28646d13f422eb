import { OutboxSchema } from '@postcommit/core';
import type { CommandContext, OutboxCommand } from '../outbox-command.js';
import { adoptTable } from './adopt-table.js';

export const schemaCommand: OutboxCommand = {
  name: 'outbox:schema',
  description: 'Print the SQL that creates the tables',
  requires: [OutboxSchema],
  needsResources: false,
  async run({ app, output }) {
    const sql = app.get(OutboxSchema).print();
    output.show({ plain: sql.trimEnd().split('\n'), json: { sql } });
  },
};

export const migrateCommand: OutboxCommand = {
  name: 'outbox:migrate',
  description: 'Create or upgrade the tables; does nothing if they are up to date',
  requires: [OutboxSchema],
  configure(command) {
    command
      .option('--adopt', 'turn a foreign table into the outbox: shows the plan and asks')
      .option('--yes', "with --adopt: don't ask");
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
  output.show({ plain: [`outbox:migrate fixed=${problems.length}`], json: { fixed: problems.length } });
}

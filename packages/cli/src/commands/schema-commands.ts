import { OutboxSchema } from '@postcommit/core';
import type { OutboxCommand } from '../outbox-command.js';

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
  async run({ app, output }) {
    const schema = app.get(OutboxSchema);
    const problems = await schema.check();
    await schema.ensure();
    output.show({ plain: [`outbox:migrate mended=${problems.length}`], json: { mended: problems.length } });
  },
};

import { OutboxStore } from '@postcommit/core';
import type { OutboxCommand } from '../outbox-command.js';
import { formatTable } from '../table.js';

export const statsCommand: OutboxCommand = {
  name: 'outbox:stats',
  description: 'Count the rows by state',
  async run({ app, output }) {
    const counts = await app.get(OutboxStore).count();
    const { pending, dispatched, dead, total } = counts;
    output.show({
      plain: [`outbox:stats pending=${pending} dispatched=${dispatched} dead=${dead} total=${total}`],
      json: { pending, dispatched, dead, total },
      terminal: (columns) =>
        formatTable(
          ['pending', 'dispatched', 'dead', 'total'],
          [[pending, dispatched, dead, total].map(String)],
          columns,
        ),
    });
  },
};

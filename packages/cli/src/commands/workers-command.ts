import { OutboxWorkers } from '@postcommit/core/internal';
import type { OutboxCommand } from '../outbox-command.js';
import { workerJson, workerLines, workerTable } from '../worker-format.js';
import { viewWorkers } from '../worker-view.js';

export const workersCommand: OutboxCommand = {
  name: 'outbox:workers',
  description: 'List the workers that share the outbox',
  requires: [OutboxWorkers],
  async run({ app, output }) {
    const workers = viewWorkers(await app.get(OutboxWorkers).list());
    output.show({
      plain: workers.flatMap(workerLines),
      json: workers.map(workerJson),
      terminal: (columns) => workerTable(workers, columns),
    });
  },
};

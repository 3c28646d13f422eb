import { OutboxStore } from '@postcommit/core';
import type { OutboxCommand } from '../outbox-command.js';
import { parseLimit } from '../parse-options.js';
import { ownersOf } from '../row-claim.js';
import { addFilterOptions, addStateOption, rowFilterOf } from '../row-filter-options.js';
import { type RowFormat, rowJson, rowLine, rowTable } from '../row-format.js';

interface ListOptions extends RowFormat {
  readonly limit: number;
}

export const listCommand: OutboxCommand = {
  name: 'outbox:list',
  description: 'List rows without claiming them',
  configure(command) {
    addStateOption(command);
    addFilterOptions(command);
    command
      .option('--limit <n>', 'maximum number of rows', parseLimit, 20)
      .option('--payload', 'print payloads, and headers with --json');
  },
  async run({ app, options, output }) {
    const { limit, payload = false }: ListOptions = options as ListOptions;
    const rows = await app.get(OutboxStore).peek(rowFilterOf(options), limit);
    const format = { payload, owners: await ownersOf(app, rows) };
    output.show({
      plain: rows.map((row) => rowLine(row, format)),
      json: rows.map((row) => rowJson(row, format)),
      terminal: (columns) => rowTable(rows, columns, format),
    });
  },
};

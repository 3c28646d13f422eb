import { OutboxStore } from '@postcommit/core';
import { CommandError } from '../command-error.js';
import type { OutboxCommand } from '../outbox-command.js';
import { word } from '../printable.js';

export const cancelCommand: OutboxCommand = {
  name: 'outbox:cancel',
  description: 'Cancel a pending row so that it is not published',
  configure(command) {
    command.argument('<id>', 'the row');
  },
  async run({ app, args: [id = ''], output }) {
    const result = await app.get(OutboxStore).cancel(id);
    if (!result) throw new CommandError(`no pending row with id '${id}'`);
    output.show({ plain: [`outbox:cancel id=${word(id)} ${result}`], json: { id, result } });
  },
};

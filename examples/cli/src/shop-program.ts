import { type CommandHost, OutboxCliModule, registerOutboxCommands } from '@postcommit/cli';
import { createOutbox, PermanentError } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import { Command } from 'commander';
import type { Pool } from 'pg';

/** The application's own program: `orders:pay` is its command, the `outbox:` ones come with the module. */
export function shopProgram(pool: Pool, warehouse: { isOpen: boolean }, host?: CommandHost): Command {
  const outbox = createOutbox({
    store: pgStore(pool),
    publisher: async () => {
      if (!warehouse.isOpen) throw new PermanentError('warehouse is closed');
    },
    modules: [OutboxCliModule],
    logger: false, // the commands say what happened
  });
  const program = new Command('shop');
  program
    .command('orders:pay <id>')
    .description('Announce that an order is paid')
    .action(async (id: string) => {
      await outbox.enqueue({ id, topic: 'order.paid', payload: { id } });
    });
  registerOutboxCommands(program, outbox.app, host && { host });
  return program;
}

import { type CommandHost, OutboxCliModule, registerOutboxCommands } from '@postcommit/cli';
import { composeModules, OutboxModule, PermanentError } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { Command } from 'commander';
import type { Pool } from 'pg';

/** The application's own program: `orders:pay` is its command, the `outbox:` ones come with the module. */
export function shopProgram(pool: Pool, warehouse: { isOpen: boolean }, host?: CommandHost): Command {
  const app = composeModules([
    OutboxModule.forRoot({
      publisher: async () => {
        if (!warehouse.isOpen) throw new PermanentError('warehouse is closed');
      },
    }),
    OutboxPgModule.forRoot({ pool }),
    OutboxCliModule,
  ]);
  const program = new Command('shop');
  program
    .command('orders:pay <id>')
    .description('Announce that an order is paid')
    .action(async (id: string) => {
      await app.get(PgOutboxStore).enqueue({ id, topic: 'order.paid', payload: { id } });
    });
  registerOutboxCommands(program, app, host && { host });
  return program;
}

// The binary
export { defineConfig } from './outbox-cli-config.js';
export { runOutbox } from './run-outbox.js';

// Commands in a program of your own
export type { CommandHost } from './command-host.js';
export { OutboxCliModule } from './outbox-cli-module.js';
export type { RegisterOptions } from './register-outbox-commands.js';
export { registerOutboxCommands } from './register-outbox-commands.js';

// Commands of your own
export { CommandError } from './command-error.js';
export type { OutboxCommand } from './outbox-command.js';
export { OutboxCommands } from './outbox-command.js';

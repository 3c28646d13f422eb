// Commands
export { CommandError, ExitCode } from './command-error.js';
export type { CommandHost, TextStream } from './command-host.js';
export type { CommandOutput, OutputMode, Shown } from './command-output.js';
// The binary
export type { OutboxCliConfig } from './outbox-cli-config.js';
export { defineConfig } from './outbox-cli-config.js';
export { OutboxCliModule } from './outbox-cli-module.js';
export type { CommandContext, OutboxCommand } from './outbox-command.js';
export { OutboxCommands } from './outbox-command.js';
// Safe output of untrusted text
export { jsonText, printable, quoted, word } from './printable.js';
export type { RegisterOptions } from './register-outbox-commands.js';
export { registerOutboxCommands } from './register-outbox-commands.js';
export { runOutbox } from './run-outbox.js';

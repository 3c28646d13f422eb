import type { Module } from '@postcommit/core';
import { cancelCommand } from './commands/cancel-command.js';
import { discardCommand } from './commands/discard-command.js';
import { dispatchCommand } from './commands/dispatch-command.js';
import { doctorCommand } from './commands/doctor-command.js';
import { listCommand } from './commands/list-command.js';
import { pauseCommand, resumeCommand } from './commands/pause-commands.js';
import { purgeCommand } from './commands/purge-command.js';
import { retryCommand } from './commands/retry-command.js';
import { migrateCommand, schemaCommand } from './commands/schema-commands.js';
import { statsCommand } from './commands/stats-command.js';
import { workersCommand } from './commands/workers-command.js';
import { type OutboxCommand, OutboxCommands } from './outbox-command.js';

/** The built-in commands. */
export const COMMANDS: readonly OutboxCommand[] = [
  dispatchCommand,
  statsCommand,
  listCommand,
  workersCommand,
  pauseCommand,
  resumeCommand,
  retryCommand,
  cancelCommand,
  discardCommand,
  purgeCommand,
  schemaCommand,
  migrateCommand,
  doctorCommand,
];

/** Contributes the built-in commands. `registerOutboxCommands` adds them to a program. */
export const OutboxCliModule: Module = {
  name: 'OutboxCliModule',
  contributes: COMMANDS.map((command) => ({ to: OutboxCommands, useValue: command })),
};

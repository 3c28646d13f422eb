import { Contributions, type OutboxApp, type Token } from '@postcommit/core';
import { nameToken } from '@postcommit/core/internal';
import type { Command, OptionValues } from 'commander';
import type { CommandHost } from './command-host.js';
import type { CommandOutput } from './command-output.js';

/** What a command can use while it runs. */
export interface CommandContext {
  readonly app: OutboxApp;
  readonly output: CommandOutput;
  readonly host: CommandHost;
  readonly args: readonly string[];
  /** Keyed by long name in camel case, as commander parses them. */
  readonly options: OptionValues;
}

/** A command of the CLI. Modules contribute theirs to `OutboxCommands`. */
export interface OutboxCommand {
  /** For example `outbox:stats`. */
  readonly name: string;
  readonly description: string;
  /** The command is available only if all of these are bound. */
  readonly requires?: readonly Token[];
  /** Set it to false for a command that needs no connection, so that none is opened. @default true */
  readonly needsResources?: boolean;
  /** Adds arguments and options. Every command has `--plain`, `--json` and `--verbose`. */
  configure?(command: Command): void;
  /** Runs the command. Throw a `CommandError` to choose the exit code. */
  run(context: CommandContext): Promise<void>;
}

/**
 * The commands of an application.
 *
 * @example
 * contributes: [{ to: OutboxCommands, useValue: { name: 'orders:replay', description: '…', run } }]
 */
export class OutboxCommands extends Contributions<OutboxCommand> {
  static {
    nameToken(this, '@postcommit/cli/OutboxCommands');
  }
}

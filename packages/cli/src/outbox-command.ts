import { Contributions, nameToken, type OutboxApp, type Token } from '@postcommit/core';
import type { Command, OptionValues } from 'commander';
import type { CommandHost } from './command-host.js';
import type { CommandOutput } from './command-output.js';

export interface CommandContext {
  readonly app: OutboxApp;
  readonly output: CommandOutput;
  readonly host: CommandHost;
  readonly args: readonly string[];
  /** By their long names in camel case, as commander gives them. */
  readonly options: OptionValues;
}

/** A command of the command line. Modules contribute theirs to `OutboxCommands`. */
export interface OutboxCommand {
  /** `outbox:stats`. */
  readonly name: string;
  readonly description: string;
  /** The command exists only where all of these are bound. */
  readonly requires?: readonly Token[];
  /** False when it talks to nothing, so that no connection is opened for it. Default true. */
  readonly needsResources?: boolean;
  /** Adds arguments and options. `--plain`, `--json` and `--verbose` are there already. */
  configure?(command: Command): void;
  /** Throw a `CommandError` to choose the exit code. */
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

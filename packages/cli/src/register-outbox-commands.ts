import { type OutboxApp, OutboxError } from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import type { Command } from 'commander';
import { ExitCode, exitCodeOf, failureLine, oneLine, stackLines } from './command-error.js';
import { type CommandHost, processHost } from './command-host.js';
import { CommandOutput } from './command-output.js';
import { type OutboxCommand, OutboxCommands } from './outbox-command.js';
import { withResources } from './resources.js';

export interface RegisterOptions {
  /**
   * Whether a command opens the application's connections before it runs and closes them afterwards. Set it to false if
   * you start the application yourself.
   *
   * @default true
   */
  readonly managesResources?: boolean;
  /** Adds short names, e.g. `stats` for `outbox:stats`. They might clash with commands of your own. @default false */
  readonly shortNames?: boolean;
  /** Where to write and how to exit; for tests. @default this process */
  readonly host?: CommandHost;
}

const REGISTER_NAMES: OptionNames<RegisterOptions> = { managesResources: true, shortNames: true, host: true };

/**
 * Adds the commands of a composed application to a commander program. `OutboxCliModule` contributes the built-in ones.
 *
 * @throws `INVALID_CONFIG` if no module contributes a command.
 *
 * @example
 * const app = composeModules([OutboxModule.forRoot({ publisher }), store, OutboxCliModule]);
 * registerOutboxCommands(program, app);
 * await program.parseAsync();
 */
export function registerOutboxCommands(
  program: Command,
  app: OutboxApp,
  options: RegisterOptions = {},
): void {
  assertKnownOptions('registerOutboxCommands', options, REGISTER_NAMES);
  const all = app.get(OutboxCommands).items;
  if (all.length === 0)
    throw new OutboxError('INVALID_CONFIG', 'no commands found; add OutboxCliModule to the modules');
  registerCommands(program, app, all, options);
}

/** Adds these commands, except for those that need a capability which the application lacks. */
export function registerCommands(
  program: Command,
  app: OutboxApp,
  commands: readonly OutboxCommand[],
  options: RegisterOptions,
): void {
  for (const command of commands.filter(({ requires = [] }) => requires.every((token) => app.has(token))))
    register(program, app, command, options);
}

/** Adds the arguments, options and help of a command, but no action. */
export function describeCommand(
  program: Command,
  outboxCommand: OutboxCommand,
  { shortNames = false, host = processHost }: RegisterOptions,
): Command {
  const command = program.command(outboxCommand.name).description(outboxCommand.description);
  const [, shortName] = /^outbox:(.+)$/.exec(outboxCommand.name) ?? [];
  if (shortNames && shortName) command.alias(shortName);
  outboxCommand.configure?.(command);
  addCommonOptions(command);
  printErrorsInOneLine(command, host);
  return command;
}

function register(
  program: Command,
  app: OutboxApp,
  outboxCommand: OutboxCommand,
  options: RegisterOptions,
): void {
  const { managesResources = true, host = processHost } = options;
  const command = describeCommand(program, outboxCommand, options);
  command.action(async () => {
    const options = command.opts();
    const output = new CommandOutput(outboxCommand.name, host, options);
    const fail = (error: unknown): void => reportFailure(error, outboxCommand.name, host, options);
    const run = (): Promise<void> => outboxCommand.run({ app, args: command.args, host, options, output });
    try {
      const opens = managesResources && outboxCommand.needsResources !== false;
      await (opens ? withResources(app, run, fail) : run());
    } catch (error) {
      fail(error);
    }
  });
}

function addCommonOptions(command: Command): void {
  command
    .option('--plain', 'one name=value line for each result; default when output is not a terminal')
    .addOption(command.createOption('--json', 'print JSON').conflicts('plain'))
    .option('--verbose', 'print where an error was thrown');
}

/** Help and version exit with 0. Otherwise commander exits only for invalid arguments. */
export function printErrorsInOneLine(command: Command, host: CommandHost): void {
  command
    .exitOverride(({ exitCode }) => host.exit(exitCode === 0 ? ExitCode.ok : ExitCode.usage))
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => host.stderr.write(text),
      outputError: (text, write) => write(`${oneLine(text)}\n`),
    });
}

/** Prints one line, and stacks if `verbose`. Never the error object itself: drivers attach values to it. */
export function reportFailure(
  error: unknown,
  name: string,
  host: CommandHost,
  { verbose = false }: { readonly verbose?: boolean } = {},
): void {
  const lines = [`${name}: ${failureLine(error)}`, ...(verbose ? stackLines(error) : [])];
  host.stderr.write(`${lines.join('\n')}\n`);
  host.setExitCode(exitCodeOf(error));
}

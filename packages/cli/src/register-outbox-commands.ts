import { assertKnownOptions, type OptionNames, type OutboxApp, OutboxError } from '@postcommit/core';
import type { Command } from 'commander';
import { ExitCode, exitCodeOf, failureLine, oneLine, stackLines } from './command-error.js';
import { type CommandHost, processHost } from './command-host.js';
import { CommandOutput } from './command-output.js';
import { type OutboxCommand, OutboxCommands } from './outbox-command.js';
import { withResources } from './resources.js';

export interface RegisterOptions {
  /**
   * Whether a command opens the application's connections before it runs and closes them after. Default true; say
   * false when you started the application yourself.
   */
  readonly managesResources?: boolean;
  /** Also `stats` for `outbox:stats`. Default false: in your program such names are yours. */
  readonly shortNames?: boolean;
  /** Default: this process. */
  readonly host?: CommandHost;
}

const REGISTER_NAMES: OptionNames<RegisterOptions> = { managesResources: true, shortNames: true, host: true };

/**
 * Adds the commands of a composed application to a commander program. Compose `OutboxCliModule` for ours.
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
    throw new OutboxError('INVALID_CONFIG', 'there are no commands; compose OutboxCliModule too');
  for (const command of all.filter(({ requires = [] }) => requires.every((token) => app.has(token))))
    register(program, app, command, options);
}

/** Adds a command without what it does: its arguments, options and help. */
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
  refuseInOneLine(command, host);
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

/** Help ends well; whatever else commander ends a program for is a mistake in the arguments. */
export function refuseInOneLine(command: Command, host: CommandHost): void {
  command
    .exitOverride(({ exitCode }) => host.exit(exitCode === 0 ? ExitCode.ok : ExitCode.usage))
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => host.stderr.write(text),
      outputError: (text, write) => write(`${oneLine(text)}\n`),
    });
}

/** One line, unless more is asked for. The error itself is never printed: drivers hang values on it. */
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

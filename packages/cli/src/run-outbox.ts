import { composeModules, type OutboxApp } from '@postcommit/core';
import { Command } from 'commander';
import { CommandError, ExitCode } from './command-error.js';
import { processHost } from './command-host.js';
import { databaseUrlConfig } from './database-url-config.js';
import { type LoadedConfig, loadConfig } from './load-config.js';
import { COMMANDS } from './outbox-cli-module.js';
import { type OutboxCommand, OutboxCommands } from './outbox-command.js';
import {
  describeCommand,
  printErrorsInOneLine,
  registerCommands,
  reportFailure,
} from './register-outbox-commands.js';

/** How long handles that a config file left open may keep the process alive. */
const MAX_LINGER_MS = 1_000;

/** Runs the `outbox` binary and sets the exit code of the process. */
export async function runOutbox(args: readonly string[], version: string): Promise<void> {
  guardProcess(args);
  const { file, rest } = splitConfigOption(args);
  let config: LoadedConfig | undefined;
  try {
    if (asksForHelp(rest)) await showHelp(rest, version);
    config = await findConfig(file);
    const program = createProgram(version);
    const app = appOf(config);
    registerCommands(program, app, commandsOf(app), { shortNames: true });
    await program.parseAsync(rest, { from: 'user' });
  } catch (error) {
    report(error, args);
  }
  try {
    await config?.close?.();
  } catch (error) {
    report(error, args);
  }
  // Only if something is still open: otherwise the process has exited by then.
  setTimeout(() => process.exit(), MAX_LINGER_MS).unref();
}

/** Node prints uncaught errors with all their fields, which may include passwords and values. */
function guardProcess(args: readonly string[]): void {
  const end = (error: unknown): never => {
    report(error, args);
    process.exit();
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
  // The reader may close the pipe, e.g. `outbox list | head`.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? ExitCode.ok : ExitCode.failed),
  );
}

function report(error: unknown, args: readonly string[]): void {
  reportFailure(error, 'outbox', processHost, { verbose: args.includes('--verbose') });
}

/** The config file determines the available commands, so its option is parsed first. */
function splitConfigOption(args: readonly string[]): { file: string | undefined; rest: string[] } {
  const reader = withConfigOption(new Command('outbox').helpOption(false));
  printErrorsInOneLine(reader, processHost);
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const { operands, unknown } = reader.parseOptions(args.slice(0, end));
  return { file: reader.opts().config, rest: [...operands, ...unknown, ...args.slice(end)] };
}

function withConfigOption(command: Command): Command {
  return command.option('--config <path>', 'default: outbox.config.ts, .js or .mjs in this folder');
}

async function findConfig(file: string | undefined): Promise<LoadedConfig> {
  const config = await loadConfig(process.cwd(), file);
  if (config) return config;
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL) return databaseUrlConfig(DATABASE_URL);
  throw new CommandError(
    'no configuration found: write outbox.config.ts with export default createOutbox({ store, publisher }), or set DATABASE_URL',
    ExitCode.usage,
  );
}

/** Whether it may ask for help on the program or a built-in command, which does not need the config file. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const [first = 'help', second] = args.slice(0, end).filter((arg) => !arg.startsWith('-'));
  if (first === 'help') return second === undefined || isBuiltIn(second);
  return (
    isBuiltIn(first) && args.slice(0, end).some((arg) => ['--help', '-h', '--version', '-V'].includes(arg))
  );
}

function isBuiltIn(command: string): boolean {
  return COMMANDS.some(({ name }) => name === command || name === `outbox:${command}`);
}

/** Exits, unless it was not a request for help after all: in `--topic --help` it is a value. */
async function showHelp(args: readonly string[], version: string): Promise<void> {
  const program = createProgram(version);
  for (const command of COMMANDS) describeCommand(program, command, { shortNames: true }).action(() => {});
  await program.parseAsync(args, { from: 'user' });
}

function appOf(config: LoadedConfig): OutboxApp {
  if ('app' in config) return config.app;
  return composeModules(config.modules, { preferences: config.preferences ?? [] });
}

/** The commands of the modules and the built-in ones, which need no `OutboxCliModule`. */
function commandsOf(app: OutboxApp): OutboxCommand[] {
  const { items } = app.get(OutboxCommands);
  const names = new Set(items.map(({ name }) => name));
  return [...items, ...COMMANDS.filter(({ name }) => !names.has(name))];
}

function createProgram(version: string): Command {
  const program = withConfigOption(new Command('outbox'))
    .description(
      'Operates a transactional outbox. Without a config file, DATABASE_URL names a PostgreSQL database.',
    )
    .version(version);
  printErrorsInOneLine(program, processHost);
  return program;
}

import { isOutboxError } from '@postcommit/core';
import { errorText, maskSecrets } from '@postcommit/core/internal';
import { printable } from './printable.js';

const MAX_CAUSES = 5;

/** The exit codes of commands. Scripts rely on them. */
export const ExitCode = {
  ok: 0,
  /** The command failed: an unknown id, an unreachable database, a config file that throws. */
  failed: 1,
  /** The command did not run: a bad flag, or something that must be configured first. */
  usage: 2,
  /** Stopped by Ctrl-C, after the current batch. */
  interrupted: 130,
  /** Stopped by SIGTERM, after the current batch. */
  terminated: 143,
} as const;

/** Throw it to end a command with one line on standard error and this exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = ExitCode.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function exitCodeOf(error: unknown): number {
  // Not `instanceof CommandError`: a contributed command may use another copy of this package.
  if (error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number')
    return error.exitCode;
  return isOutboxError(error) && error.code === 'INVALID_ARGUMENT' ? ExitCode.usage : ExitCode.failed;
}

/**
 * Returns the message of an error and of its causes, in one line, with secrets masked. Ignores all other fields, because
 * drivers attach statements and their values to errors.
 */
export function failureLine(error: unknown): string {
  return oneLine(errorText(error));
}

export function oneLine(text: string): string {
  return printable(
    maskSecrets(text)
      .split(/[\r\n]/)
      .map((line) => line.trim())
      .filter(Boolean)
      .join(' '),
  );
}

/** For `--verbose`: the stacks of the error and of its causes. */
export function stackLines(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth >= MAX_CAUSES) return [];
  const stack = typeof error.stack === 'string' ? maskSecrets(error.stack).split('\n').map(printable) : [];
  return [...stack, ...stackLines(error.cause, depth + 1)];
}

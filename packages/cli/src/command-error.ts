import { errorText, isOutboxError, maskSecrets } from '@postcommit/core';
import { printable } from './printable.js';

const MAX_CAUSES = 5;

/** How a command ends. Scripts rely on these. */
export const ExitCode = {
  ok: 0,
  /** It could not be done: an unknown id, a database out of reach, a config file that throws. */
  failed: 1,
  /** It was not tried: a bad flag, or something that must be configured first. */
  usage: 2,
  /** Ended by Ctrl-C, after the batch in hand. */
  interrupted: 130,
  /** Ended by SIGTERM, likewise. */
  terminated: 143,
} as const;

/** Ends a command with one line on standard error and this exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = ExitCode.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function exitCodeOf(error: unknown): number {
  // By its fields: a contributed command may have another copy of this package.
  if (error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number')
    return error.exitCode;
  return isOutboxError(error) && error.code === 'INVALID_ARGUMENT' ? ExitCode.usage : ExitCode.failed;
}

/**
 * What may be told of an error: its message and those of its causes, in one line, masked. Nothing else of it is
 * looked at, since drivers hang statements and their values on errors.
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

/** For `--verbose`: where it was thrown, and where what caused it was. */
export function stackLines(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth >= MAX_CAUSES) return [];
  const stack = typeof error.stack === 'string' ? maskSecrets(error.stack).split('\n').map(printable) : [];
  return [...stack, ...stackLines(error.cause, depth + 1)];
}

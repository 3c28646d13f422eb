import { isOutboxError, TransientError, UnavailableError } from '@postcommit/core';

/** The first word of an error reply is its code. */
const CODE = /^-?([A-Z][A-Z0-9_]{1,30})(?: |$)/;

const REFUSED: ReadonlySet<unknown> = new Set(['NOAUTH', 'NOPERM', 'WRONGPASS']);
/** Every job would fail, until the server has recovered or another one has taken over. */
const AWAY: ReadonlySet<unknown> = new Set([
  ...REFUSED,
  'CLUSTERDOWN',
  'LOADING',
  'MASTERDOWN',
  'MISCONF',
  'NOREPLICAS',
  'OOM',
  'READONLY',
]);
const LATER: ReadonlySet<unknown> = new Set(['ASK', 'BUSY', 'MOVED', 'TRYAGAIN', 'UNBLOCKED']);
const OUTDATED: ReadonlySet<unknown> = new Set(['MASTERDOWN', 'NOAUTH', 'READONLY', 'UNBLOCKED']);

/** The error of a job, by its code. Errors that have a kind already stay as they are. */
export function addError(error: unknown, rowId: string, isConnected: boolean): unknown {
  if (hasKind(error)) return error;
  const code = codeOf(error);
  const cause = withoutCommand(error);
  if (code === undefined && !isConnected)
    return new UnavailableError(`Redis did not confirm the job of row ${rowId}`, { cause });
  if (code === undefined)
    return new TransientError(`BullMQ refuses the job of row ${rowId}`, undefined, { cause });
  const problem = `Redis refuses the job of row ${rowId} (${code})`;
  if (AWAY.has(code)) return new UnavailableError(problem, { isCertain: true, cause });
  if (LATER.has(code)) return new UnavailableError(problem, { cause });
  return new TransientError(problem, undefined, { cause });
}

/** The error of an attempt to connect, or of a question to the server. Every row would fail like this. */
export function connectError(error: unknown): unknown {
  if (hasKind(error)) return error;
  const problem = REFUSED.has(codeOf(error)) ? 'Redis refuses the credentials' : 'Redis is not reachable';
  return new UnavailableError(problem, { isCertain: true, cause: withoutCommand(error) });
}

/** Whether the connection that says so should be replaced. */
export function isOutdated(error: unknown): boolean {
  return OUTDATED.has(codeOf(error));
}

/** The code of an error reply, such as `OOM`; undefined for any other error. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? CODE.exec(error.message)?.[1] : undefined;
}

/** `ioredis` puts the command into the error: with the password, or with the data of the job. */
function withoutCommand(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('no error was given');
  const [text = ''] = error.message.split(/,? with args| script: /, 1);
  const { code } = error as { code?: unknown };
  return Object.assign(new Error(text), code !== undefined && { code });
}

function hasKind(error: unknown): boolean {
  return isOutboxError(error) || (error instanceof Error && 'permanent' in error);
}

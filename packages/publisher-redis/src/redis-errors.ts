import { isOutboxError, PermanentError, TransientError, UnavailableError } from '@postcommit/core';

/** The first word of an error reply is its code. */
const CODE = /^-?([A-Z][A-Z0-9_]{1,30})(?: |$)/;

const REFUSED: ReadonlySet<unknown> = new Set(['NOAUTH', 'NOPERM', 'WRONGPASS']);
/** Every row would fail, until the server has recovered or another one has taken over. */
const AWAY: ReadonlySet<unknown> = new Set([
  'CLUSTERDOWN',
  'LOADING',
  'MASTERDOWN',
  'MISCONF',
  'NOREPLICAS',
  'OOM',
  'READONLY',
]);
/** Other streams may be available. */
const ELSEWHERE: ReadonlySet<unknown> = new Set(['ASK', 'BUSY', 'MOVED', 'TRYAGAIN', 'UNBLOCKED']);
/** Another connection may lead to a server that works, or have the rights. */
const OUTDATED: ReadonlySet<unknown> = new Set(['MASTERDOWN', 'NOAUTH', 'READONLY', 'UNBLOCKED']);

/** What was being sent. */
export interface Sending {
  readonly id: string;
  readonly stream: string;
}

/** The error of a message, by its code. Errors that have a kind already stay as they are. */
export function publishError(error: unknown, { id, stream }: Sending): unknown {
  if (hasKind(error)) return error;
  const cause = withoutArguments(error);
  const code = codeOf(error);
  if (code === undefined) return new UnavailableError(`Redis did not confirm row ${id}`, { cause });
  if (code === 'WRONGTYPE')
    return new PermanentError(`row ${id} can't be sent: ${stream} is not a stream`, { cause });
  if (REFUSED.has(code)) {
    const problem = `Redis refuses to let this user add to ${stream} (${code})`;
    return new UnavailableError(problem, { isCertain: true, cause });
  }
  const problem = `Redis refuses messages for ${stream} (${code})`;
  if (AWAY.has(code)) return new UnavailableError(problem, { isCertain: true, cause });
  if (ELSEWHERE.has(code)) return new UnavailableError(problem, { cause });
  return new TransientError(problem, undefined, { cause });
}

/** The error of an attempt to connect, or of a question to the server. Every row would fail like this. */
export function connectError(error: unknown): unknown {
  if (hasKind(error)) return error;
  const isRefused = REFUSED.has(codeOf(error));
  const problem = isRefused ? 'Redis refuses the credentials' : 'Redis is not reachable';
  return new UnavailableError(problem, { isCertain: true, cause: withoutArguments(error) });
}

/** Whether the connection that says so should be replaced. */
export function isOutdated(error: unknown): boolean {
  return OUTDATED.has(codeOf(error));
}

/** The code of an error reply, such as `WRONGTYPE`; undefined for any other error. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? CODE.exec(error.message)?.[1] : undefined;
}

/** The reply to an unknown command quotes what was sent. */
function withoutArguments(error: unknown): unknown {
  if (codeOf(error) !== 'ERR') return error;
  const [text = ''] = String((error as Error).message).split(/,? with args/, 1);
  return new Error(text);
}

function hasKind(error: unknown): boolean {
  return isOutboxError(error) || (error instanceof Error && 'permanent' in error);
}

import {
  isOutboxError,
  OutboxError,
  PermanentError,
  TransientError,
  UnavailableError,
} from '@postcommit/core';

/** Codes of the JetStream API: `err_code`. */
const TOO_LARGE_FOR_STREAM = 10_054;
const NOT_THE_EXPECTED_STREAM = 10_060;

const PERMANENT: ReadonlySet<string> = new Set(['InvalidArgumentError', 'InvalidSubjectError']);
const REFUSED: ReadonlySet<string> = new Set([
  'AuthorizationError',
  'PermissionViolationError',
  'UserAuthenticationExpiredError',
]);
const NOBODY_ANSWERS: ReadonlySet<string> = new Set(['JetStreamNotEnabled', 'NoRespondersError']);
const MAX_CAUSES = 5;

/** What was being published. */
export interface Publishing {
  readonly id: string;
  readonly subject: string;
  readonly stream: string | undefined;
}

/** The error of a publish, by class and code. Errors that have a kind already stay as they are. */
export function publishError(error: unknown, { id, subject, stream }: Publishing): unknown {
  if (hasKind(error)) return error;
  const all = chainOf(error);
  const is = (names: ReadonlySet<string>): boolean => all.some(({ name }) => names.has(String(name)));
  const api = all.find(
    ({ name }) => String(name).endsWith('ApiError') || String(name) === 'StreamNotFoundError',
  );
  if (api) return apiError(error, Number(api.code), Number(api.status), { id, subject, stream });
  if (is(PERMANENT)) return new PermanentError(`row ${id} can't be sent to ${subject}`, { cause: error });
  if (is(NOBODY_ANSWERS)) {
    const problem = `no stream takes messages for ${subject}, or JetStream is not available`;
    return new UnavailableError(problem, { isCertain: true, cause: error });
  }
  if (isForbidden(error)) {
    const problem = `NATS refuses to let this user publish to ${subject}`;
    return new UnavailableError(problem, { isCertain: true, cause: error });
  }
  return new UnavailableError(`NATS did not confirm the message for ${subject}`, { cause: error });
}

/** The error of an attempt to connect. Every row would fail like this. */
export function connectError(error: unknown): unknown {
  if (hasKind(error)) return error;
  if (chainOf(error).some(({ name }) => PERMANENT.has(String(name)))) {
    const problem = 'natsPublisher: the client refuses an option of the connection';
    return new OutboxError('INVALID_CONFIG', problem, { cause: error });
  }
  const problem = isForbidden(error) ? 'NATS refuses the credentials' : 'NATS is not reachable';
  return new UnavailableError(problem, { isCertain: true, cause: error });
}

/** Whether the server does not allow it, to this user. */
export function isForbidden(error: unknown): boolean {
  return chainOf(error).some(({ name }) => REFUSED.has(String(name)));
}

/** Whether nothing was heard from the server. */
export function isTimeout(error: unknown): boolean {
  return chainOf(error).some(({ name }) => name === 'TimeoutError');
}

/** The `err_code` of the JetStream API, if it is such an error. */
export function apiCodeOf(error: unknown): number | undefined {
  const api = chainOf(error).find(({ code }) => typeof code === 'number' && code >= 10_000);
  return api && Number(api.code);
}

function apiError(error: unknown, code: number, status: number, { id, subject, stream }: Publishing): Error {
  const cause = error;
  switch (code) {
    case TOO_LARGE_FOR_STREAM:
      return new PermanentError(`row ${id} is too large for the stream of ${subject} (max_msg_size)`, {
        cause,
      });
    case NOT_THE_EXPECTED_STREAM: {
      const problem = `${subject} belongs to another stream than '${stream}'`;
      return new UnavailableError(problem, { isCertain: true, cause });
    }
    default: {
      const problem = `the stream of ${subject} refuses messages (code ${code})`;
      // From 500 on, it is the server's trouble, such as a stream that is full.
      if (status >= 500) return new UnavailableError(problem, { cause });
      return new TransientError(problem, undefined, { cause });
    }
  }
}

function hasKind(error: unknown): boolean {
  return isOutboxError(error) || (error instanceof Error && 'permanent' in error);
}

interface ErrorFields {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly status?: unknown;
  readonly cause?: unknown;
}

/** By name and not by class: the connection may come from another copy of the client. */
function chainOf(error: unknown): ErrorFields[] {
  const chain: ErrorFields[] = [];
  let current = error;
  while (current instanceof Error && chain.length < MAX_CAUSES) {
    chain.push(current);
    current = current.cause;
  }
  return chain;
}

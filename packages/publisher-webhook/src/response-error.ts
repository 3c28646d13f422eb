import { errorFromResponse, PermanentError, TransientError, UnavailableError } from '@postcommit/core';
import type { Deadline } from './deadline.js';
import { maskSent } from './masking.js';
import type { WebhookResponse } from './transport.js';
import type { WebhookMessage } from './webhook-message.js';
import type { WebhookOptions, WebhookVerdict } from './webhook-options.js';

/** More of a body is not read. */
const MAX_BODY_BYTES = 16_384;
/** A body is only an explanation, so it may not take longer. */
const MAX_BODY_MS = 1_000;

/** What was sent, to judge the answer. */
export interface Sent {
  /** What was sent where, without secrets. */
  readonly what: string;
  readonly message: WebhookMessage;
  readonly statuses: WebhookOptions['statuses'];
}

/** Reads the response, so that the connection is free again, and returns undefined if it means delivered. */
export async function errorOf(
  response: WebhookResponse,
  { what, message, statuses = {} }: Sent,
  deadline: Deadline,
): Promise<Error | undefined> {
  deadline.leave(MAX_BODY_MS);
  const body = await beginningOf(response).catch(unreadable);
  const { status, type } = response;
  const masked = (text: string | null): string | null => text && maskSent(text, message);
  if (status >= 200 && status < 300) return undefined;
  const error = await errorFromResponse({
    status,
    ...(type !== undefined && { type }),
    headers: { get: (name) => masked(response.headers.get(name)) },
    text: async () => maskSent(body, message),
  });
  return withVerdict(statuses[status], error, `${what}: ${error.message}`);
}

/** What the status means by the options, or else by the rules that all publishers share. */
function withVerdict(
  verdict: WebhookVerdict | undefined,
  error: PermanentError | UnavailableError,
  message: string,
): Error {
  const { retryAfterMs } = error instanceof UnavailableError ? error : {};
  const usual = error instanceof UnavailableError ? 'unavailable' : 'permanent';
  switch (verdict ?? usual) {
    case 'permanent':
      return new PermanentError(message);
    case 'transient':
      return new TransientError(message, retryAfterMs);
    case 'unavailable':
      return new UnavailableError(message, retryAfterMs === undefined ? {} : { retryAfterMs });
  }
}

/** Leaving the loop cancels the rest. */
async function beginningOf({ body }: WebhookResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes >= MAX_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString();
}

function unreadable(): string {
  return '(the body could not be read)';
}

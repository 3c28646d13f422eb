import { isOutboxError, OutboxError } from '@postcommit/core';
import {
  assertKnownOptions,
  assertTimerDelay,
  assertWholeNumber,
  type OptionNames,
} from '@postcommit/core/internal';
import type { MessageHeaders } from './broker-message.js';
import { headersOf } from './headers-of.js';
import { type RawBody, rawBodyOf } from './raw-body.js';
import { type VerifyWebhookOptions, WebhookVerifier } from './verify-webhook.js';
import { refusal, type WebhookAnswer } from './webhook-answer.js';
import type { WebhookMessage } from './webhook-message.js';

/** How webhooks are received. */
export interface WebhookReceiverOptions extends VerifyWebhookOptions {
  /** A longer body is answered with 413. @default 2_097_152 */
  readonly maxBodyBytes?: number;
  /** How long a body may take to arrive. A slower one is answered with 408. @default 15_000 */
  readonly bodyTimeoutMs?: number;
}

const NAMES: OptionNames<WebhookReceiverOptions> = {
  secret: true,
  toleranceMs: true,
  maxBodyBytes: true,
  bodyTimeoutMs: true,
};

/**
 * A `Request` of fetch, an `IncomingMessage` of Node (Express and Nest have one too), or headers and the raw body. The body
 * must not have been parsed.
 */
export interface WebhookRequest {
  readonly headers: MessageHeaders;
  /** A stream that nobody has read, or the bytes. */
  readonly body?: unknown;
  /** The bytes, where a framework keeps them beside a parsed body. */
  readonly rawBody?: unknown;
}

type WebhookHandler = (message: WebhookMessage) => Promise<boolean>;

/**
 * Checks a request, calls the handler, and returns what to answer. The handler resolves to whether this was the first delivery,
 * as `handleOnce` returns it, after the commit.
 */
export type WebhookReceiver = (
  request: WebhookRequest,
  handler: (message: WebhookMessage) => Promise<boolean>,
) => Promise<WebhookAnswer>;

/**
 * Receives webhooks as Standard Webhooks has them, in any framework. It resolves to an answer for `new Response(answer.body,
 * answer)` or `response.writeHead(answer.status, answer.headers)`: 204 if the handler ran, 200 if the message was known, 401
 * if it is not genuine or too old, 400 if it can't be read, 422 if the handler threw a `PermanentError`, and 503 if it
 * failed, so that it is sent again.
 *
 * @throws `INVALID_CONFIG` for invalid options. Requests are answered, except `INVALID_ARGUMENT` if the raw body is gone.
 *
 * @example
 * const receive = webhookReceiver({ secret: process.env.WEBHOOK_SECRET });
 * const answer = await receive(request, (message) =>
 *   inTransaction(pool, (tx) =>
 *     handleOnce(processed, tx, { consumer: 'payments', id: message.id }, async () => credit(tx, message.json())),
 *   ),
 * );
 */
export function webhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  assertKnownOptions('webhookReceiver', options, NAMES);
  const { maxBodyBytes = 2_097_152, bodyTimeoutMs = 15_000, ...verifying } = options ?? {};
  assertWholeNumber('webhookReceiver: maxBodyBytes', maxBodyBytes);
  assertTimerDelay('webhookReceiver: bodyTimeoutMs', bodyTimeoutMs);
  const verifier = new WebhookVerifier('webhookReceiver', verifying);
  return async (request, handler) => {
    assertCall(request, handler);
    const headers = headersOf(request.headers);
    const signed = verifier.begin(headers);
    if (typeof signed === 'string') return refusal(401, signed);
    const body = await rawBodyOf(request, { maxBodyBytes, bodyTimeoutMs });
    if (typeof body === 'string') return unread(body);
    const message = verifier.end(headers, signed, body);
    return typeof message === 'string' ? refusal(401, message) : handled(message, handler);
  };
}

function assertCall(request: unknown, handler: unknown): void {
  const { headers }: { headers?: unknown } = request ?? {};
  if (typeof headers !== 'object' || headers === null)
    throw new OutboxError('INVALID_ARGUMENT', 'webhookReceiver: the request has no headers');
  if (typeof handler !== 'function')
    throw new OutboxError('INVALID_ARGUMENT', 'webhookReceiver: the handler must be a function');
}

function unread(body: RawBody & string): WebhookAnswer {
  if (body === 'too-large') return refusal(413, 'its body is too large');
  return refusal(408, body === 'too-slow' ? 'its body took too long' : 'its body was cut off');
}

async function handled(message: WebhookMessage, handler: WebhookHandler): Promise<WebhookAnswer> {
  try {
    const isFirst: unknown = await handler(message);
    if (typeof isFirst === 'boolean') return { status: isFirst ? 204 : 200, headers: {}, body: null };
  } catch (error) {
    return { ...answerTo(error), error };
  }
  const problem = 'webhookReceiver: the handler must resolve to what handleOnce returned, true or false';
  throw new OutboxError('INVALID_ARGUMENT', problem);
}

function answerTo(error: unknown): WebhookAnswer {
  if (isOutboxError(error) && error.code === 'INVALID_MESSAGE') return refusal(400, error.message);
  const isPermanent = error instanceof Error && 'permanent' in error && error.permanent === true;
  return isPermanent ? refusal(422, 'it is never accepted') : refusal(503, 'it could not be handled now');
}

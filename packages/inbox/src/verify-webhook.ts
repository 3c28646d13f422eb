import { OutboxError } from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import type { MessageHeaders } from './broker-message.js';
import { type Headers, headersOf } from './headers-of.js';
import { invalidMessage } from './invalid-message.js';
import { WebhookMessage } from './webhook-message.js';
import { keysOf } from './webhook-secrets.js';
import { DEFAULT_TOLERANCE_MS, isSigned, type SignedRequest, signedRequestIn } from './webhook-signature.js';

/** How signatures are checked. */
export interface VerifyWebhookOptions {
  /** `whsec_` and the base64 of a key. A list while secrets are rotated: each of them is good. */
  readonly secret: string | readonly string[];
  /** How far the time of a request may be from now, in both directions. @default 300_000 */
  readonly toleranceMs?: number;
}

const NAMES: OptionNames<VerifyWebhookOptions> = { secret: true, toleranceMs: true };

/**
 * Checks the signature of a request, as Standard Webhooks has it. The body must be as it arrived: parsed and serialized again,
 * it may have other bytes. For a whole receiver, see `webhookReceiver`.
 *
 * @throws `INVALID_MESSAGE` if it is not genuine or too old, `INVALID_CONFIG` for invalid options.
 */
export function verifyWebhook(
  request: { readonly headers: MessageHeaders; readonly body: string | Uint8Array },
  options: VerifyWebhookOptions,
): WebhookMessage {
  assertKnownOptions('verifyWebhook', options, NAMES);
  const verifier = new WebhookVerifier('verifyWebhook', options);
  const { headers, body }: { headers?: unknown; body?: unknown } = request ?? {};
  const raw = rawBytes(body);
  if (raw === undefined)
    throw new OutboxError('INVALID_ARGUMENT', 'verifyWebhook: body must be the raw body, a string or bytes');
  const all = headersOf(headers);
  const signed = verifier.begin(all);
  const verified = typeof signed === 'string' ? signed : verifier.end(all, signed, raw);
  if (typeof verified === 'string') throw invalidMessage(`the webhook is not genuine: ${verified}`);
  return verified;
}

/** The bytes of a body that was not parsed. */
export function rawBytes(body: unknown): Uint8Array | undefined {
  if (typeof body === 'string') return Buffer.from(body);
  return body instanceof Uint8Array ? body : undefined;
}

/** Checks requests in two steps, since a body need not be read if its headers are wrong. */
export class WebhookVerifier {
  readonly #keys: readonly Buffer[];
  readonly #toleranceMs: number;

  constructor(where: string, { secret, toleranceMs = DEFAULT_TOLERANCE_MS }: VerifyWebhookOptions) {
    this.#keys = keysOf(where, secret);
    if (!(Number.isFinite(toleranceMs) && toleranceMs >= 1_000))
      throw new OutboxError(
        'INVALID_CONFIG',
        `${where}: toleranceMs must be at least 1000: times are in seconds, got ${String(toleranceMs)}`,
      );
    this.#toleranceMs = toleranceMs;
  }

  /** Returns why the request can't be genuine, as a text. */
  begin(headers: Headers): SignedRequest | string {
    return signedRequestIn(headers, this.#toleranceMs);
  }

  /** Returns why the request is not genuine, as a text. */
  end(headers: Headers, signed: SignedRequest, body: Uint8Array): WebhookMessage | string {
    if (!isSigned(this.#keys, signed, body)) return 'none of its signatures is right';
    const timestamp = new Date(Number(signed.timestamp) * 1_000);
    return new WebhookMessage({ id: signed.id, timestamp, headers: Object.fromEntries(headers), body });
  }
}

import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';
/** The bounds of Standard Webhooks. */
const LEAST_BYTES = 24;
const MOST_BYTES = 64;

/** Returns the key of a secret as Standard Webhooks writes it, or undefined if it is not one. */
export function keyOf(secret: unknown): Buffer | undefined {
  if (typeof secret !== 'string' || !secret.startsWith(PREFIX)) return undefined;
  const encoded = secret.slice(PREFIX.length);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined;
  const key = Buffer.from(encoded, 'base64');
  return key.length >= LEAST_BYTES && key.length <= MOST_BYTES ? key : undefined;
}

/** What `keyOf` accepts, for messages. Secrets themselves must not appear there. */
export const SECRET_FORMAT = `'whsec_' and the base64 of ${LEAST_BYTES} to ${MOST_BYTES} random bytes`;

/** What a signature covers. */
export interface SignedContent {
  readonly id: string;
  /** In seconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/** The value of `webhook-signature`: one signature for each key, so that receivers can change theirs in their own time. */
export function signatureOf(keys: readonly Buffer[], { id, timestamp, body }: SignedContent): string {
  const sign = (key: Buffer): string =>
    createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return keys.map((key) => `v1,${sign(key)}`).join(' ');
}

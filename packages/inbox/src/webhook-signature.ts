import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Headers } from './headers-of.js';

/** What a signature covers, and the signatures that came with it. */
export interface SignedRequest {
  readonly id: string;
  /** In seconds, as it arrived. */
  readonly timestamp: string;
  readonly signatures: string;
}

export const DEFAULT_TOLERANCE_MS = 300_000;
const VERSION = 'v1,';
/** Seconds with more digits are no time of ours. */
const MAX_DIGITS = 12;

/** What of a request is signed, or why it can't be genuine: known before its body is read. */
export function signedRequestIn(headers: Headers, toleranceMs: number): SignedRequest | string {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    headers.get(`webhook-${name}`),
  );
  if (!id || !timestamp || !signatures)
    return 'it needs the headers webhook-id, webhook-timestamp and webhook-signature';
  if (timestamp.length > MAX_DIGITS || !/^\d+$/.test(timestamp))
    return 'its webhook-timestamp is not a time in seconds';
  const ageMs = Date.now() - Number(timestamp) * 1_000;
  if (Math.abs(ageMs) > toleranceMs)
    return `its webhook-timestamp is more than ${toleranceMs} ms ${ageMs > 0 ? 'in the past' : 'in the future'}`;
  return { id, timestamp, signatures };
}

/** Whether one of the signatures was made with one of the keys. Compares all of them, each in constant time. */
export function isSigned(
  keys: readonly Buffer[],
  { id, timestamp, signatures }: SignedRequest,
  body: Uint8Array,
): boolean {
  const given = signatures.split(' ').filter((each) => each.startsWith(VERSION));
  const offered = given.map((each) => Buffer.from(each.slice(VERSION.length)));
  const matches = keys.flatMap((key) => {
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
    return offered.filter((signature) => isEqual(signature, Buffer.from(digest)));
  });
  return matches.length > 0;
}

/** The lengths of signatures are no secret. */
function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

// #region guide
import { createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE_SECONDS = 5 * 60;

interface Signed {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  /** As it arrived: parsed and serialized again, it may have other bytes. */
  readonly body: string;
}

/** Whether one of the signatures was made with this secret, not long ago. */
export function isGenuine(secret: string, { id, timestamp, signature, body }: Signed): boolean {
  // False for what is not a number, too.
  const isRecent = Math.abs(Date.now() / 1_000 - Number(timestamp)) <= TOLERANCE_SECONDS;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  const given = signature.split(' ').map((each) => Buffer.from(each.replace('v1,', ''), 'base64'));
  return isRecent && given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}
// #endregion

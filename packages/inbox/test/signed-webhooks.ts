import { createHmac } from 'node:crypto';

export const OLD = `whsec_${'b2xk'.repeat(8)}`;
export const NEW = `whsec_${'bmV3'.repeat(8)}`;
export const OTHER = `whsec_${'b3Ro'.repeat(8)}`;

export interface Signing {
  readonly id?: string;
  /** In seconds. */
  readonly timestamp?: number | string;
  readonly body?: string;
  readonly secrets?: readonly string[];
}

export function secondsFromNow(seconds: number): number {
  return Math.floor(Date.now() / 1_000) + seconds;
}

/** Headers as a sender makes them: written here again, from the text of the standard. */
export function signedHeaders({
  id = 'm-1',
  timestamp = secondsFromNow(0),
  body = '{}',
  secrets = [OLD],
}: Signing = {}) {
  const sign = (secret: string): string => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}

import { createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE_MS = 5 * 60_000;

/** `t=<ms>,v1=<hex>`: the time is signed too, so that an old request can't be sent again. */
export function sign(secret: string, body: string, nowMs = Date.now()): string {
  return `t=${nowMs},v1=${digest(secret, nowMs, body).toString('hex')}`;
}

export function isSignedBy(secret: string, body: string, header = ''): boolean {
  const [, time, hex = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  if (time === undefined || Math.abs(Date.now() - Number(time)) > TOLERANCE_MS) return false;
  return timingSafeEqual(digest(secret, Number(time), body), Buffer.from(hex, 'hex'));
}

function digest(secret: string, timeMs: number, body: string): Buffer {
  return createHmac('sha256', secret).update(`${timeMs}.${body}`).digest();
}

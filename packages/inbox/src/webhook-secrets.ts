import { OutboxError } from '@postcommit/core';

const PREFIX = 'whsec_';
/** The bounds of Standard Webhooks. */
const LEAST_BYTES = 24;
const MOST_BYTES = 64;

/** @throws `INVALID_CONFIG`, without the secret in its message. */
export function keysOf(where: string, secrets: unknown): Buffer[] {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (list.length === 0) throw new OutboxError('INVALID_CONFIG', `${where}: secret is an empty list`);
  return list.map((secret, place) => {
    const key = keyOf(secret);
    if (key !== undefined) return key;
    const name = Array.isArray(secrets) ? `secret ${place}` : 'secret';
    const format = `'${PREFIX}' and the base64 of ${LEAST_BYTES} to ${MOST_BYTES} random bytes`;
    throw new OutboxError('INVALID_CONFIG', `${where}: ${name} must be ${format}`);
  });
}

function keyOf(secret: unknown): Buffer | undefined {
  if (typeof secret !== 'string' || !secret.startsWith(PREFIX)) return undefined;
  const encoded = secret.slice(PREFIX.length);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined;
  const key = Buffer.from(encoded, 'base64');
  return key.length >= LEAST_BYTES && key.length <= MOST_BYTES ? key : undefined;
}

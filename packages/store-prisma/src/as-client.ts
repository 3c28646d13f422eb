import { OutboxError } from '@postcommit/core';
import type { PrismaClientLike } from './prisma-client-like.js';

/** Checks the methods, not the class: every generated client is a class of its own. */
export function asClient(client: PrismaClientLike | undefined): PrismaClientLike {
  const found = foundInsteadOfClient(client);
  if (client && found === undefined) return client;
  throw new OutboxError(
    'INVALID_CONFIG',
    `the Prisma store needs a client, got ${found}; pass new PrismaClient({ adapter }), or clientFactory`,
  );
}

function foundInsteadOfClient(client: unknown): string | undefined {
  if (client === undefined || client === null) return String(client);
  if (typeof client !== 'object' && typeof client !== 'function') return `a ${typeof client}`;
  if (typeof Reflect.get(client, '$queryRawUnsafe') !== 'function')
    return 'an object without $queryRawUnsafe()';
  return typeof Reflect.get(client, '$connect') === 'function' ? undefined : 'the client of a transaction';
}

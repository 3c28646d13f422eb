import { OutboxError } from '@postcommit/core';
import type { PrismaClientLike } from './prisma-client-like.js';

/** By its method: every generated client is a class of its own. */
export function asClient(client: PrismaClientLike | undefined): PrismaClientLike {
  if (client && typeof client.$queryRawUnsafe === 'function') return client;
  const found = typeof client === 'object' && client ? 'something else' : typeof client;
  throw new OutboxError(
    'INVALID_CONFIG',
    `the Prisma store needs a client, got ${found}; pass client: new PrismaClient({ adapter }), or clientFactory`,
  );
}

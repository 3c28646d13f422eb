import type { SqlDialect } from '../dialect.js';
import { compare } from './check-schema.js';
import { claimUnkeyed, extendClaim, releaseToken } from './claim.js';
import { claimUnkeyedExcept } from './claim-except.js';
import { claimKeyed } from './claim-keyed.js';
import { faultOf } from './faults.js';
import { findExisting, insert } from './insert.js';
import { backlog, count, countDead, lookAhead, peek } from './inspect.js';
import { locks } from './locks.js';
import { longTransactions } from './long-transactions.js';
import { discard, purgePage, requeue, requeueWhere } from './operate.js';
import { pauses } from './pauses.js';
import { pendingKeys } from './pending-keys.js';
import { processed } from './processed.js';
import { createStatements, lockSchema, schemaTitle, unlockSchema } from './schema.js';
import { cancel, findReceipts, settleDispatched, settleUnpublished } from './settle.js';
import { limit } from './statement-limit.js';
import { workers } from './workers.js';

/** The dialect for MariaDB 10.6 or newer and MySQL 8.0.17 or newer; tested on MariaDB 10.11 and MySQL 9.7. */
export const mysql = {
  name: 'mysql',
  // Not REPEATABLE READ, the default: its gap locks would block producers' inserts.
  begin: ['set transaction isolation level read committed', 'start transaction'],
  quote: '`',
  locks,
  processed,
  workers,
  pauses,
  schema: {
    title: schemaTitle(),
    create: createStatements,
    compare,
    isAtomic: false,
    lock: lockSchema,
    unlock: unlockSchema,
  },
  longTransactions,
  faultOf,
  limit,
  insert,
  findExisting,
  claimUnkeyed,
  claimUnkeyedExcept,
  claimKeyed,
  pendingKeys,
  releaseToken,
  settleDispatched,
  settleUnpublished,
  findReceipts,
  extendClaim,
  count,
  countDead,
  backlog,
  lookAhead,
  peek,
  requeue,
  requeueWhere,
  discard,
  cancel,
  purgePage,
} satisfies SqlDialect;

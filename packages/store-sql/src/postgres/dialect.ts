import type { SqlDialect } from '../dialect.js';
import { compare } from './check-schema.js';
import { claimUnkeyed, extendClaim, releaseToken } from './claim.js';
import { claimUnkeyedExcept } from './claim-except.js';
import { claimKeyed } from './claim-keyed.js';
import { faultOf } from './faults.js';
import { findExisting, insert } from './insert.js';
import { backlog, count, countDead, lookAhead, peek } from './inspect.js';
import { keyedLock } from './keyed-lock.js';
import { insertAndNotify, notify } from './listen/notify.js';
import { locks } from './locks.js';
import { findLongTransactions, longTransactionProblem } from './long-transactions.js';
import { discard, purgePage, requeue, requeueWhere } from './operate.js';
import { pauses } from './pauses.js';
import { pendingKeys } from './pending-keys.js';
import { processed } from './processed.js';
import { createStatements, lockSchema, schemaTitle } from './schema.js';
import { cancel, findReceipts, settleDispatched, settleUnpublished } from './settle.js';
import { workers } from './workers.js';

/** The PostgreSQL dialect; tested on 15 and 18. */
export const postgres = {
  name: 'postgres',
  begin: ['begin isolation level read committed'],
  quote: '"',
  locks,
  processed,
  workers,
  pauses,
  schema: { title: schemaTitle(), create: createStatements, compare, isAtomic: true, lock: lockSchema },
  keyedLock,
  longTransactions: { find: findLongTransactions, problemOf: longTransactionProblem },
  faultOf,
  insert,
  hints: { insertAndNotify, notify },
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

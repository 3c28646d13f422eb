import type { SqlDialect } from '../dialect.js';
import { compare } from './check-schema.js';
import { claimUnkeyed, extendClaim, releaseToken } from './claim.js';
import { claimUnkeyedExcept } from './claim-except.js';
import { claimKeyed } from './claim-keyed.js';
import { faultOf } from './faults.js';
import { findExisting, insert } from './insert.js';
import { backlog, count, countDead, lookAhead, peek } from './inspect.js';
import { locks } from './locks.js';
import { discard, purgePage, requeue, requeueWhere } from './operate.js';
import { pauses } from './pauses.js';
import { pendingKeys } from './pending-keys.js';
import { processed } from './processed.js';
import { createStatements, lockSchema, TITLE } from './schema.js';
import { cancel, findReceipts, settleDispatched, settleUnpublished } from './settle.js';
import { workers } from './workers.js';

/** The dialect for SQLite 3.42 or newer; tested on 3.54 with sql.js, and manually on 3.53 with better-sqlite3. */
export const sqlite = {
  name: 'sqlite',
  begin: ['begin immediate'],
  quote: '"',
  locks,
  processed,
  workers,
  pauses,
  schema: { title: TITLE, create: createStatements, compare, isAtomic: true, lock: lockSchema },
  faultOf,
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

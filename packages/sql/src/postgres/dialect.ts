import type { SqlDialect } from '../dialect.js';
import { claimKeyed, claimUnkeyed, extendClaim, releaseToken } from './claim.js';
import { findExisting, insert } from './insert.js';
import { backlog, count, peek } from './inspect.js';
import { notify } from './notify.js';
import { discard, purgePage, requeue, requeueWhere } from './operate.js';
import { cancel, findReceipts, settleDispatched, settleUnpublished } from './settle.js';

/** PostgreSQL; tested on 15 and 18. */
export const postgres: SqlDialect = {
  name: 'postgres',
  insert,
  notify,
  findExisting,
  claimUnkeyed,
  claimKeyed,
  releaseToken,
  settleDispatched,
  settleUnpublished,
  findReceipts,
  extendClaim,
  count,
  backlog,
  peek,
  requeue,
  requeueWhere,
  discard,
  cancel,
  purgePage,
};

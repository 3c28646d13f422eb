import type { BehaviourGroup } from './behaviour.js';
import { blockedKeys } from './behaviours/blocked-keys.js';
import { claiming } from './behaviours/claiming.js';
import { concurrency } from './behaviours/concurrency.js';
import { enqueuing } from './behaviours/enqueuing.js';
import { inspection } from './behaviours/inspection.js';
import { leavingOutTopics } from './behaviours/leaving-out-topics.js';
import { nextDue } from './behaviours/next-due.js';
import { ordering } from './behaviours/ordering.js';
import { pauses } from './behaviours/pauses.js';
import { purging } from './behaviours/purging.js';
import { requeuing } from './behaviours/requeuing.js';
import { retakenClaims } from './behaviours/retaken-claims.js';
import { retries } from './behaviours/retries.js';
import { settling } from './behaviours/settling.js';
import { takeovers } from './behaviours/takeovers.js';
import { transactions } from './behaviours/transactions.js';
import { validation } from './behaviours/validation.js';
import { workers } from './behaviours/workers.js';

export const behaviourGroups: readonly BehaviourGroup[] = [
  enqueuing,
  validation,
  transactions,
  claiming,
  leavingOutTopics,
  nextDue,
  retakenClaims,
  settling,
  retries,
  ordering,
  blockedKeys,
  inspection,
  requeuing,
  purging,
  concurrency,
  workers,
  takeovers,
  pauses,
];

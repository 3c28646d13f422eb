import type { Case, Setting } from '../case.js';
import { backlogCase } from './backlog.js';
import { brokersCase } from './brokers.js';
import { bulkCase } from './bulk.js';
import { crowdedKeyCase } from './crowded-key.js';
import { drainCase } from './drain.js';
import { dueCase } from './due.js';
import { enqueueCase } from './enqueue.js';
import { frontCase } from './front.js';
import { grownClaimCase } from './grown-claim.js';
import { growthCase } from './growth.js';
import { heldClaimCase } from './held-claim.js';
import { keyedCase } from './keyed.js';
import { latencyCase } from './latency.js';
import { mariadbCase } from './mariadb.js';
import { rateCase } from './rate.js';
import { steadyCase } from './steady.js';
import { telemetryCase } from './telemetry.js';

export function allCases(setting: Setting): Case[] {
  return [
    enqueueCase,
    bulkCase,
    drainCase,
    brokersCase,
    latencyCase,
    rateCase,
    dueCase,
    keyedCase,
    crowdedKeyCase,
    frontCase,
    heldClaimCase,
    steadyCase,
    backlogCase,
    growthCase,
    grownClaimCase,
    telemetryCase,
    mariadbCase,
  ].map((make) => make(setting));
}

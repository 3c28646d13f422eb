import type { Subject } from '../subject.js';
import { bullmq, bullmqDefaults } from './bullmq.js';
import {
  graphileWorker,
  graphileWorker018,
  graphileWorker018Ten,
  graphileWorkerDefaults,
} from './graphile-worker.js';
import { handWritten } from './hand-written.js';
import { postcommitMariadb, rawMariadb } from './mariadb.js';
import { pgBoss12, pgBossDefaults, pgBossFetch, pgBossWork } from './pg-boss.js';
import {
  postcommitManyStores,
  postcommitNoWakeup,
  postcommitOneCall,
  postcommitPg,
  postcommitPgDefaults,
  postcommitSameProcess,
} from './postcommit-pg.js';
import { postcommitPgFront } from './postcommit-pg-front.js';
import { postcommitPrisma } from './postcommit-prisma.js';
import { postcommitTypeorm } from './postcommit-typeorm.js';
import { rawSql, rawSqlPrepared, rawSqlTwice } from './raw-sql.js';
import { brokerSubjects } from './to-broker.js';
import {
  outboxPolling,
  outboxPollingDefaults,
  outboxReplication,
  outboxReplicationDefaults,
} from './transactional-outbox.js';

/** In the order of the tables. Another database is another list of subjects. */
export const subjects: readonly Subject[] = [
  postcommitPg,
  postcommitOneCall,
  postcommitNoWakeup,
  postcommitManyStores,
  postcommitSameProcess,
  postcommitTypeorm,
  postcommitPrisma,
  postcommitPgDefaults,
  postcommitPgFront,
  rawSql,
  rawSqlTwice,
  rawSqlPrepared,
  handWritten,
  graphileWorker,
  graphileWorker018,
  graphileWorker018Ten,
  graphileWorkerDefaults,
  pgBossWork,
  pgBoss12,
  pgBossFetch,
  pgBossDefaults,
  bullmq,
  bullmqDefaults,
  outboxPolling,
  outboxPollingDefaults,
  outboxReplication,
  outboxReplicationDefaults,
  postcommitMariadb,
  rawMariadb,
  ...brokerSubjects.flatMap(({ ours, naive, limit }) => [ours, naive, limit]),
];

import type { Subject } from '../subject.js';

/** By the beginning of their ids. */
const MODULES: ReadonlyArray<readonly [string, () => Promise<Record<string, unknown>>]> = [
  ['store-pg-front', () => import('./postcommit-pg-front.js')],
  ['store-pg', () => import('./postcommit-pg.js')],
  ['store-typeorm', () => import('./postcommit-typeorm.js')],
  ['store-prisma', () => import('./postcommit-prisma.js')],
  ['raw-sql', () => import('./raw-sql.js')],
  ['mariadb', () => import('./mariadb.js')],
  ['hand-written', () => import('./hand-written.js')],
  ['graphile-worker', () => import('./graphile-worker.js')],
  ['pg-boss', () => import('./pg-boss.js')],
  ['bullmq', () => import('./bullmq.js')],
  ['pg-transactional-outbox', () => import('./transactional-outbox.js')],
  ['broker-', loadBrokerSubjects],
];

async function loadBrokerSubjects(): Promise<Record<string, unknown>> {
  const { brokerSubjects } = await import('./to-broker.js');
  const subjects = brokerSubjects.flatMap(({ ours, naive, limit }) => [ours, naive, limit]);
  return Object.fromEntries(subjects.map((subject) => [subject.id, subject]));
}

/** Loads one subject and no other: its process is measured, memory and all. */
export async function loadSubject(id: string): Promise<Subject> {
  const load = MODULES.find(([beginning]) => id.startsWith(beginning))?.[1];
  const exported = load ? Object.values(await load()) : [];
  const found = exported.find((one) => isSubject(one) && one.id === id);
  if (!isSubject(found)) throw new Error(`there is no subject ${id}`);
  return found;
}

function isSubject(value: unknown): value is Subject {
  return typeof value === 'object' && value !== null && 'id' in value && 'prepare' in value;
}

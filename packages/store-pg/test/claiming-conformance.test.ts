import { PgOutboxStore } from '@postcommit/store-pg';
import { ClaimSessions } from '@postcommit/store-sql';
import { describeOutboxStore } from '@postcommit/store-testkit';
import { afterAll, beforeAll, expect } from 'vitest';
import type { ClaimSession } from '../../store-sql/src/claim/claim-sessions.js';
import { type ClaimingListener, claimingListener } from '../../store-sql/test/claiming-listener.js';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { storeHarness } from '../../store-sql/test/sql-fixture.js';
import { pgStores } from './pg-stores.js';

const fixture = usePostgres();
let listener: ClaimingListener;

/** Many behaviours are about claims that were lost. After each the connection would be replaced, and others run meanwhile. */
class TrustedSessions extends ClaimSessions {
  override add(session: ClaimSession): this {
    return super.add(Object.assign(session, { invalidate: () => {} }));
  }
}

beforeAll(async () => {
  listener = await claimingListener(fixture, { claimSessions: new TrustedSessions() });
});

afterAll(async () => {
  const { claims } = await listener.prepared();
  await listener.stop();
  expect(claims, 'run on the connection that listens').toBeGreaterThan(100);
});

describeOutboxStore(
  'PgOutboxStore that claims on the connection that listens',
  storeHarness(fixture, {
    ...pgStores,
    createStore: ({ pool }, options) =>
      new PgOutboxStore(pool, { ...options, claimSessions: listener.claimSessions }),
  }),
);

import { describeOutboxStore } from '@postcommit/store-testkit';
import { postgresHarness, usePostgres } from '../../sql/test/postgres-fixture.js';
import { pgStores } from './pg-stores.js';

const fixture = usePostgres();

describeOutboxStore('PgOutboxStore', postgresHarness(fixture, pgStores));

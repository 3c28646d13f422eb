import { describeOutboxStore } from '@postcommit/store-testkit';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { storeHarness } from '../../store-sql/test/sql-fixture.js';
import { pgStores } from './pg-stores.js';

const fixture = usePostgres();

describeOutboxStore('PgOutboxStore', storeHarness(fixture, pgStores));

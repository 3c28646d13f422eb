import { describeOutboxStore } from '@postcommit/store-testkit';
import { postgresHarness, usePostgres } from '../../sql/test/postgres-fixture.js';
import { typeormStores, useDataSource } from './typeorm-stores.js';

const fixture = usePostgres();
const source = useDataSource(fixture);

describeOutboxStore('TypeormOutboxStore', postgresHarness(fixture, typeormStores(source)));

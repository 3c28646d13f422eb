import { describeOutboxStore } from '@postcommit/store-testkit';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { storeHarness } from '../../store-sql/test/sql-fixture.js';
import { typeormStores, useDataSource } from './typeorm-stores.js';

const fixture = usePostgres();
const source = useDataSource(fixture);

describeOutboxStore('TypeormOutboxStore', storeHarness(fixture, typeormStores(source)));

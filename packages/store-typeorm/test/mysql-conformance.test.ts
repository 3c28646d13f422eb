import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { describeOutboxStore } from '@postcommit/store-testkit';
import { useMysql } from '../../store-sql/test/mysql-fixture.js';
import { storeHarness } from '../../store-sql/test/sql-fixture.js';
import { typeormStores, useDataSource } from './typeorm-stores.js';

describeOnMysql('on MariaDB or MySQL', () => {
  const fixture = useMysql();
  const source = useDataSource(fixture, { type: 'mysql' });

  describeOutboxStore('TypeormOutboxStore', storeHarness(fixture, typeormStores(source)));
});

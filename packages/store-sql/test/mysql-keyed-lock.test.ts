import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { mysql, SqlOutboxStore } from '@postcommit/store-sql';
import { it, onTestFinished } from 'vitest';
import { expectToGoOnBesideLock } from './keyed-lock-scenario.js';
import { useMysql } from './mysql-fixture.js';

class Store extends SqlOutboxStore<never> {
  protected assertTransaction(): void {}
}

describeOnMysql('while another session holds the lock row of keyed claims', () => {
  const fixture = useMysql();

  it('unkeyed rows continue, keyed rows follow its release, and it is reported once', async () => {
    const other = await fixture.connect();
    onTestFinished(() => other.end());
    await other.begin();
    await expectToGoOnBesideLock((clock) => new Store(fixture.executor, { dialect: mysql, clock }), {
      hold: () => other.sql('select name from outbox_locks for update'),
      release: () => other.rollback(),
    });
  });
});

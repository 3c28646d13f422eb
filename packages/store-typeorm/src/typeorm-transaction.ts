import { notATransaction } from '@postcommit/core';
import type { EntityManager, QueryRunner } from 'typeorm';

/** The part of an `EntityManager` that the store uses, and enough of the rest to refuse other objects. */
export interface TypeormTransaction extends Pick<EntityManager, 'sql' | 'queryRunner'> {
  /** Only a data source, a query runner and a repository have this, and none of them is a transaction. */
  readonly manager?: 'Pass the EntityManager of dataSource.transaction(async (manager) => …), or queryRunner.manager';
}

/**
 * Returns the connection of the entity manager's transaction.
 *
 * @throws `INVALID_TRANSACTION` if the entity manager would write outside a transaction.
 */
export function transactionOf(handle: TypeormTransaction): QueryRunner {
  const { queryRunner } = handle;
  if (typeof queryRunner?.query !== 'function')
    throw notATransaction(`expected the EntityManager of a transaction, got ${nameOf(handle)}`);
  if (queryRunner.isReleased)
    throw notATransaction(
      'the EntityManager no longer has a connection: its transaction has ended, or the connection was lost',
    );
  if (!queryRunner.isTransactionActive) throw notATransaction('the EntityManager is not in a transaction');
  return queryRunner;
}

function nameOf(handle: object): string {
  const name = handle.constructor?.name ?? typeof handle;
  return name === 'EntityManager' ? 'one without a transaction, such as dataSource.manager' : name;
}

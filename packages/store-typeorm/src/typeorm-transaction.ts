import { notATransaction } from '@postcommit/core';
import type { EntityManager, QueryRunner } from 'typeorm';

/** The connection that the entity manager's transaction runs on; throws when it would write outside of one. */
export function transactionOf(handle: EntityManager): QueryRunner {
  const { queryRunner } = handle;
  if (typeof queryRunner?.query !== 'function')
    throw notATransaction(`expected the EntityManager of a transaction, got ${nameOf(handle)}`);
  if (queryRunner.isReleased)
    throw notATransaction(
      'the EntityManager has no connection any more: its transaction ended, or the connection was lost',
    );
  if (!queryRunner.isTransactionActive) throw notATransaction('the EntityManager is not in a transaction');
  return queryRunner;
}

function nameOf(handle: object): string {
  const name = handle.constructor?.name ?? typeof handle;
  return name === 'EntityManager' ? 'one that belongs to none, such as dataSource.manager' : name;
}

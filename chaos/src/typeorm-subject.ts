import type { TransactionalOutboxStore } from '@postcommit/core';
import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import type { Subject, SubjectOptions } from './subject.js';

export async function typeormSubject({
  url,
  claimTimeoutMs,
  poolSize = 10,
}: SubjectOptions): Promise<Subject> {
  const dataSource = new DataSource({ type: 'postgres', url, poolSize, poolErrorHandler: () => {} });
  await dataSource.initialize();
  return {
    module: OutboxTypeormModule.forRoot({
      dataSource,
      ...(claimTimeoutMs !== undefined && { claimTimeoutMs }),
    }),
    storeToken: TypeormOutboxStore as unknown as Subject['storeToken'],
    transaction: (store: TransactionalOutboxStore<never>, work) =>
      dataSource.transaction((manager) =>
        work({
          query: (text, values) => manager.query(text, values),
          enqueue: (entries) => store.enqueueWith(manager as never, entries),
        }),
      ),
    query: (text, values) => dataSource.query(text, values),
    close: () => dataSource.destroy(),
  };
}

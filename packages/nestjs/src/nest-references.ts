import {
  OutboxPublisher,
  type OutboxRow,
  type PublishBatchContext,
  type PublishContext,
  type PublishResult,
  type Token,
} from '@postcommit/core';
import type { PrismaClientLike, PrismaTransactionOptions } from '@postcommit/store-prisma';
import type { NestReference } from './nest-lookup.js';

/** A Prisma client that is a provider. It has only these four methods, because Nest calls the provider's hooks itself. */
export class ReferredPrismaClient implements PrismaClientLike {
  readonly #client: NestReference<PrismaClientLike>;

  constructor(client: NestReference<PrismaClientLike>) {
    this.#client = client;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as PrismaClientLike says.
  $queryRawUnsafe(query: string, ...values: unknown[]): any {
    return this.#client.get().$queryRawUnsafe(query, ...values);
  }

  $transaction<Result>(
    // biome-ignore lint/suspicious/noExplicitAny: as PrismaClientLike says.
    run: (tx: any) => Promise<Result>,
    options: PrismaTransactionOptions,
  ): Promise<Result> {
    return this.#client.get().$transaction(run, options);
  }

  $connect(): Promise<void> {
    return this.#client.get().$connect();
  }

  $disconnect(): Promise<void> {
    return this.#client.get().$disconnect();
  }
}

/** A publisher that is a provider. */
export function referredPublisher(
  publisherClass: Token<OutboxPublisher>,
  publisher: NestReference<OutboxPublisher>,
): OutboxPublisher {
  // The engine decides by whether the method exists.
  const takesBatches = typeof publisherClass.prototype.publishBatch === 'function';
  return takesBatches ? new ReferredBatchPublisher(publisher) : new ReferredPublisher(publisher);
}

class ReferredPublisher extends OutboxPublisher {
  protected readonly publisher: NestReference<OutboxPublisher>;

  constructor(publisher: NestReference<OutboxPublisher>) {
    super();
    this.publisher = publisher;
  }

  publish(row: OutboxRow, context: PublishContext): Promise<void> {
    return this.publisher.get().publish(row, context);
  }
}

class ReferredBatchPublisher extends ReferredPublisher {
  override async publishBatch(
    rows: readonly OutboxRow[],
    context: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    return (await this.publisher.get().publishBatch?.(rows, context)) ?? [];
  }
}

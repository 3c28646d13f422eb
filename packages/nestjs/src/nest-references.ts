import {
  OutboxError,
  OutboxPublisher,
  type OutboxRow,
  type PublishContext,
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

/** The engine looks for these before Nest has created the provider. */
const EARLY_METHODS = ['publishBatch', 'destinationOf'] as const;
/** Of the life cycle; not asked for before the application starts. */
const LATE_METHODS = ['start', 'stop', 'check', 'health'] as const;

/** A publisher that is a provider: Nest creates it after the outbox is composed. */
export function referredPublisher(
  publisherClass: Token<OutboxPublisher>,
  publisher: NestReference<OutboxPublisher>,
): OutboxPublisher {
  const referred = new ReferredPublisher(publisher);
  for (const name of EARLY_METHODS) {
    if (typeof publisherClass.prototype[name] !== 'function') continue;
    const call = (...args: unknown[]): unknown =>
      Reflect.apply(publisher.get()[name] ?? missing(name), publisher.get(), args);
    Object.defineProperty(referred, name, { value: call });
  }
  for (const name of LATE_METHODS)
    Object.defineProperty(referred, name, { get: () => publisher.get()[name]?.bind(publisher.get()) });
  Object.defineProperty(referred, 'name', { get: () => publisher.get().name });
  return referred;
}

class ReferredPublisher extends OutboxPublisher {
  readonly #publisher: NestReference<OutboxPublisher>;

  constructor(publisher: NestReference<OutboxPublisher>) {
    super();
    this.#publisher = publisher;
  }

  publish(row: OutboxRow, context: PublishContext): Promise<void> {
    return this.#publisher.get().publish(row, context);
  }
}

/** The provider of a class may be something else than its instance. */
function missing(name: string): () => never {
  return () => {
    throw new OutboxError(
      'INVALID_CONFIG',
      `the provider of the publisher has no method ${name}, but its class has`,
    );
  };
}

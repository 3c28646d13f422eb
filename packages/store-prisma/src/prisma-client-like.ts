/** The handle that `$transaction` gives to its callback, of any generated client, extended or not. */
export interface PrismaTransactionLike {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>;
  /** The client itself has this, a transaction has not. It is what keeps a client from passing for a transaction. */
  $connect?: never;
}

/** The methods of a generated client that we call: a client of any schema fits, extended or not. */
export interface PrismaClientLike {
  // The promises are Prisma's own, which start nothing until they are awaited, and which only its client can make.
  // biome-ignore lint/suspicious/noExplicitAny: a generated client takes its own promise type only.
  $queryRawUnsafe(query: string, ...values: unknown[]): any;
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  $transaction(queries: any[], options: PrismaBatchOptions): Promise<unknown[]>;
  $connect(): Promise<void>;
  $disconnect(): Promise<void>;
}

/** How a list of statements is run as one transaction. */
export interface PrismaBatchOptions {
  readonly isolationLevel: 'ReadCommitted';
  readonly maxWait: number;
  readonly timeout: number;
}

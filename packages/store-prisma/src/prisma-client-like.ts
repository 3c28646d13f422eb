/** The handle that `$transaction` gives to its callback, of any generated client, extended or not. */
export interface PrismaTransactionLike {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>;
  /** Only the client itself has this, and the client is not a transaction. */
  $connect?: 'Pass the tx of prisma.$transaction(async (tx) => …), not the client';
}

/** The methods of a generated client that we call: a client of any schema fits, extended or not. */
export interface PrismaClientLike {
  // biome-ignore lint/suspicious/noExplicitAny: a generated client gives its own promise type.
  $queryRawUnsafe(query: string, ...values: unknown[]): any;
  $transaction<Result>(
    // biome-ignore lint/suspicious/noExplicitAny: the handle of every client is a type of its own.
    run: (tx: any) => Promise<Result>,
    options: PrismaTransactionOptions,
  ): Promise<Result>;
  $connect(): Promise<void>;
  $disconnect(): Promise<void>;
}

/** How several statements are run as one transaction. */
export interface PrismaTransactionOptions {
  readonly isolationLevel: 'ReadCommitted';
  readonly maxWait: number;
  readonly timeout: number;
}

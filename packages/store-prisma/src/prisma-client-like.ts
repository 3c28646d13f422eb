/** The client that `$transaction` passes to its callback. Those of any generated client fit, extended or not. */
export interface PrismaTransactionLike {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>;
  /** Only the client itself has this, and the client is not a transaction. */
  $connect?: 'Pass the tx of prisma.$transaction(async (tx) => …), not the client';
}

/** The part of a generated client that the store uses. Clients of any schema fit, extended or not. */
export interface PrismaClientLike {
  // biome-ignore lint/suspicious/noExplicitAny: a generated client returns its own promise type.
  $queryRawUnsafe(query: string, ...values: unknown[]): any;
  $transaction<Result>(
    // biome-ignore lint/suspicious/noExplicitAny: every generated client has its own type of handle.
    run: (tx: any) => Promise<Result>,
    options: PrismaTransactionOptions,
  ): Promise<Result>;
  $connect(): Promise<void>;
  $disconnect(): Promise<void>;
}

/** The options of a transaction of several statements. */
export interface PrismaTransactionOptions {
  readonly isolationLevel: 'ReadCommitted';
  readonly maxWait: number;
  readonly timeout: number;
}

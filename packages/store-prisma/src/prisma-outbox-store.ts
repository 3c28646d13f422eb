import { isOutboxError, type NewRow, nameToken, notATransaction, OutboxError } from '@postcommit/core';
import { type SqlExecutor, SqlOutboxStore, type SqlOutboxStoreOptions, TableName } from '@postcommit/sql';
import type { PrismaClientLike, PrismaTransactionLike } from './prisma-client-like.js';
import { prismaExecutor } from './prisma-executor.js';

export type PrismaOutboxStoreOptions = Omit<SqlOutboxStoreOptions, 'dialect'>;

/** The outbox on a Prisma client. `enqueueWith` takes the handle that `$transaction` gives to your callback. */
export class PrismaOutboxStore extends SqlOutboxStore<PrismaTransactionLike> {
  static {
    nameToken(this, '@postcommit/store-prisma/PrismaOutboxStore');
  }

  readonly #executor: SqlExecutor<PrismaTransactionLike>;
  readonly #table: TableName;

  constructor(client: PrismaClientLike, options: PrismaOutboxStoreOptions = {}) {
    const executor = prismaExecutor(client);
    super(executor, options);
    this.#executor = executor;
    this.#table = new TableName(options);
  }

  protected assertTransaction(tx: PrismaTransactionLike): void {
    // A transaction may have $transaction too, for nesting; only the client can connect.
    if (tx.$connect !== undefined) throw notATransaction('enqueueWith was given the Prisma client itself');
    if (typeof tx.$queryRawUnsafe !== 'function')
      throw notATransaction('enqueueWith was given something that is not a Prisma transaction');
  }

  protected override async insert(rows: readonly NewRow[], tx?: PrismaTransactionLike): Promise<void> {
    try {
      await super.insert(rows, tx);
    } catch (error) {
      const isUnnamed = isOutboxError(error) && error.code === 'DUPLICATE_ID' && rows.length > 1;
      // The caller's transaction is aborted now and answers no question.
      throw isUnnamed && !tx ? await this.#naming(error, rows) : error;
    }
  }

  /** Prisma drops the part of the database's error that says which id is taken. */
  async #naming(error: OutboxError, rows: readonly NewRow[]): Promise<OutboxError> {
    const text = `select id from ${this.#table} where id = any ($1::varchar[]) limit 1`;
    const [taken] = await this.#executor([{ text, values: [rows.map(({ id }) => id)] }]).catch(() => []);
    if (!taken) return error;
    return new OutboxError('DUPLICATE_ID', `a row with id '${taken.id}' exists already`, {
      cause: error.cause,
    });
  }
}

import { inTransaction, PgOutboxStore } from '@postcommit/store-pg';
import { inject, injectable } from 'inversify';
import { Pool } from 'pg';

/** A class of the application. It gets the store from the container, like everything else. */
@injectable()
export class OrderService {
  constructor(
    @inject(Pool) private readonly pool: Pool,
    @inject(PgOutboxStore) private readonly outbox: PgOutboxStore,
  ) {}

  async place(id: string): Promise<void> {
    await inTransaction(this.pool, async (tx) => {
      await tx.query('insert into inversify_orders values ($1)', [id]);
      await this.outbox.enqueueWith(tx, { topic: 'order.placed', key: id, payload: { id } });
    });
  }
}

import { PgOutboxStore } from '@postcommit/store-pg';
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
    const client = await this.pool.connect();
    try {
      await client.query('begin');
      await client.query('insert into orders values ($1)', [id]);
      await this.outbox.enqueueWith(client, { topic: 'order.placed', key: id, payload: { id } });
      await client.query('commit');
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  }
}

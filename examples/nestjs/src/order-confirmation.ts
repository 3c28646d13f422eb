import { EventEmitter, once } from 'node:events';
import { Inject, Injectable } from '@nestjs/common';
import { OnOutboxEvent, type OutboxEventContext } from '@postcommit/nestjs';
import { DataSource } from 'typeorm';
import { OrderCreated } from './order-created.event.js';

@Injectable()
export class OrderConfirmation {
  readonly #done = new EventEmitter();

  constructor(@Inject(DataSource) private readonly dataSource: DataSource) {}

  /** The first try fails, as if the mail server was busy. The outbox tries again. */
  @OnOutboxEvent(OrderCreated)
  async confirm({ orderId }: OrderCreated, { attempt }: OutboxEventContext): Promise<void> {
    console.log(`try ${attempt} to confirm ${orderId}`);
    if (attempt === 1) throw new Error('mail server busy');
    await this.dataSource.query(`update orders set status = 'confirmed' where id = $1`, [orderId]);
    this.#done.emit('confirmed');
  }

  async nextConfirmed(): Promise<void> {
    await once(this.#done, 'confirmed');
  }
}

import { EventEmitter, once } from 'node:events';
import { Inject, Injectable } from '@nestjs/common';
import { OnOutboxEvent, type OutboxEventContext } from '@postcommit/nestjs';
import { DataSource } from 'typeorm';
import { OrderCreated } from './order-created.event.js';

@Injectable()
export class OrderConfirmation {
  readonly #confirmed = new EventEmitter();

  constructor(@Inject(DataSource) private readonly dataSource: DataSource) {}

  /** The first try fails, as if the mail server was busy. The outbox tries again. */
  @OnOutboxEvent(OrderCreated)
  async confirm({ orderId }: OrderCreated, { attempt }: OutboxEventContext): Promise<void> {
    console.log(`try ${attempt} to confirm ${orderId}`);
    if (attempt === 1) throw new Error('mail server busy');
    await this.dataSource.query(`update nest_orders set status = 'confirmed' where id = $1`, [orderId]);
    this.#confirmed.emit(orderId);
  }

  async confirmed(orderId: string): Promise<void> {
    await once(this.#confirmed, orderId);
  }
}

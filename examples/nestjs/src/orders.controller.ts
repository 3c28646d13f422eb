import { Controller, HttpException, Inject, Param, Post } from '@nestjs/common';
import { OutboxEmitter } from '@postcommit/nestjs';
import { DataSource } from 'typeorm';
import { OrderCreated } from './order-created.event.js';

@Controller('orders')
export class OrdersController {
  constructor(
    @Inject(DataSource) private readonly dataSource: DataSource,
    @Inject(OutboxEmitter) private readonly outbox: OutboxEmitter,
  ) {}

  /** The order and its event are stored together, or not at all. A client that got no answer may ask again. */
  @Post(':id')
  async create(@Param('id') id: string): Promise<void> {
    await this.dataSource.transaction(async (em) => {
      const insert = `insert into nest_orders values ($1, 'created') on conflict do nothing returning id`;
      const created: unknown[] = await em.query(insert, [id]);
      if (created.length === 0) return;
      await this.outbox.emit(em, new OrderCreated(id), { key: id });
      if (id.startsWith('bad')) throw new HttpException('out of stock', 409);
    });
  }
}

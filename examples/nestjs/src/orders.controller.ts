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

  /** The order and its event are stored together, or not at all. */
  @Post(':id')
  async create(@Param('id') id: string): Promise<void> {
    await this.dataSource.transaction(async (em) => {
      await em.query(`insert into nest_orders values ($1, 'created')`, [id]);
      await this.outbox.emit(em, new OrderCreated(id), { key: id });
      if (id.startsWith('bad')) throw new HttpException('out of stock', 409);
    });
  }
}

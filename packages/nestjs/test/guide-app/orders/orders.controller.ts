import { Controller, Inject, Param, Post } from '@nestjs/common';
import { OrdersService } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(@Inject(OrdersService) private readonly orders: OrdersService) {}

  @Post(':id')
  async create(@Param('id') id: string): Promise<void> {
    await this.orders.create(id);
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { OnOutboxEvent, type OutboxEventContext } from '@postcommit/nestjs';
import { PrismaService } from '../prisma.service.js';
import { OrderCreatedEvent } from './order-created.event.js';

@Injectable()
export class OrderConfirmation {
  constructor(@Inject(PrismaService) private readonly prisma: PrismaService) {}

  @OnOutboxEvent(OrderCreatedEvent)
  async confirm({ orderId }: OrderCreatedEvent, { attempt }: OutboxEventContext): Promise<void> {
    const status = `confirmed at try ${attempt}`;
    await this.prisma.order.update({ where: { id: orderId }, data: { status } });
  }
}

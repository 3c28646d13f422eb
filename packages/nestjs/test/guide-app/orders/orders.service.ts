import { Inject, Injectable } from '@nestjs/common';
import { OutboxEmitter } from '@postcommit/nestjs';
import { PrismaService } from '../prisma.service.js';
import { OrderCreatedEvent } from './order-created.event.js';

@Injectable()
export class OrdersService {
  constructor(
    @Inject(PrismaService) private readonly prisma: PrismaService,
    @Inject(OutboxEmitter) private readonly outbox: OutboxEmitter,
  ) {}

  async create(id: string): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      await tx.order.create({ data: { id, status: 'created' } });
      await this.outbox.emit(tx, new OrderCreatedEvent(id), { key: id });
    });
  }
}

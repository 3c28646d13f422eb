import { Module } from '@nestjs/common';
import { OutboxCliModule } from '@postcommit/cli';
import { OutboxModule } from '@postcommit/nestjs';
import { OrderConfirmation } from './orders/order-confirmation.js';
import { OrdersController } from './orders/orders.controller.js';
import { OrdersService } from './orders/orders.service.js';
import { PrismaService } from './prisma.service.js';

@Module({
  imports: [
    OutboxModule.forRoot({
      prisma: PrismaService,
      modules: [OutboxCliModule],
    }),
  ],
  controllers: [OrdersController],
  providers: [PrismaService, OrdersService, OrderConfirmation],
})
export class AppModule {}

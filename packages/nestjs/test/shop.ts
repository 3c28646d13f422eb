import 'reflect-metadata';
import {
  Body,
  Controller,
  type DynamicModule,
  type INestApplication,
  Inject,
  Injectable,
  type LoggerService,
  type OnApplicationShutdown,
  Post,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  OnOutboxEvent,
  OutboxEmitter,
  type OutboxEventContext,
  OutboxModule,
  type OutboxModuleOptions,
} from '@postcommit/nestjs';
import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import { PrismaPg } from '@prisma/adapter-pg';
import { DataSource } from 'typeorm';
import { PrismaClient } from '../../store-prisma/test/gen/client.js';
import { nestModule } from './nest-app.js';

/** The tables of the shop, beside the outbox. */
export const SHOP_TABLES = `
  create table orders (id text primary key, status text not null);
  create table handled (order_id text not null, instance text not null, event_id text not null, attempt int not null)`;

export class OrderCreated {
  static readonly eventType = 'order.created';

  constructor(readonly orderId: string) {}
}

export interface ShopOptions {
  readonly orm: 'prisma' | 'typeorm';
  readonly url: string;
  readonly handle: (order: OrderCreated, context: OutboxEventContext) => Promise<void>;
  readonly outbox?: Omit<OutboxModuleOptions, 'modules'>;
}

abstract class Orders {
  /** Stores orders and their events in one transaction, and fails at the end on request. */
  abstract create(ids: readonly string[], fails: boolean): Promise<void>;
}

@Injectable()
class PrismaService extends PrismaClient implements OnApplicationShutdown {
  constructor(@Inject('url') connectionString: string) {
    super({ adapter: new PrismaPg({ connectionString, max: 5 }) });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
  }
}

@Injectable()
class PrismaOrders extends Orders {
  constructor(
    @Inject(PrismaService) private readonly prisma: PrismaService,
    @Inject(OutboxEmitter) private readonly outbox: OutboxEmitter,
  ) {
    super();
  }

  async create(ids: readonly string[], fails: boolean): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      await tx.order.createMany({ data: ids.map((id) => ({ id, status: 'created' })) });
      await this.outbox.emitMany(
        tx,
        ids.map((id) => new OrderCreated(id)),
      );
      if (fails) throw new Error('out of stock');
    });
  }
}

/** As TypeOrmModule does it: closed in `onApplicationShutdown`. */
class OpenDataSource extends DataSource implements OnApplicationShutdown {
  async onApplicationShutdown(): Promise<void> {
    if (this.isInitialized) await this.destroy();
  }
}

@Injectable()
class TypeormOrders extends Orders {
  constructor(
    @Inject(OpenDataSource) private readonly db: OpenDataSource,
    @Inject(OutboxEmitter) private readonly outbox: OutboxEmitter,
  ) {
    super();
  }

  async create(ids: readonly string[], fails: boolean): Promise<void> {
    await this.db.transaction(async (em) => {
      await em.query(`insert into orders select id, 'created' from unnest($1::text[]) as id`, [ids]);
      await this.outbox.emitMany(
        em,
        ids.map((id) => new OrderCreated(id)),
      );
      if (fails) throw new Error('out of stock');
    });
  }
}

@Controller('orders')
class OrdersController {
  constructor(@Inject(Orders) private readonly orders: Orders) {}

  @Post()
  async create(@Body() { ids, fails = false }: { ids: string[]; fails?: boolean }): Promise<void> {
    await this.orders.create(ids, fails);
  }
}

@Injectable()
class OrderHandler {
  constructor(@Inject('handle') private readonly call: ShopOptions['handle']) {}

  @OnOutboxEvent(OrderCreated)
  async on(order: OrderCreated, context: OutboxEventContext): Promise<void> {
    await this.call(order, context);
  }
}

/** The same shop on Prisma and on TypeORM. */
export function shopModule({ orm, url, handle, outbox = {} }: ShopOptions): new () => object {
  const providers = [OrderHandler, { provide: 'handle', useValue: handle }];
  const database = orm === 'prisma' ? prismaModules(url, outbox) : typeormModules(url, outbox);
  const orders = { provide: Orders, useClass: orm === 'prisma' ? PrismaOrders : TypeormOrders };
  return nestModule({
    imports: database,
    controllers: [OrdersController],
    providers: [...providers, orders],
  });
}

function prismaModules(url: string, outbox: OutboxModuleOptions): DynamicModule[] {
  const prisma = {
    module: nestModule({}, 'PrismaModule'),
    global: true,
    providers: [PrismaService, { provide: 'url', useValue: url }],
    exports: [PrismaService],
  };
  return [OutboxModule.forRoot({ prisma: PrismaService, ...outbox }), prisma];
}

function typeormModules(url: string, outbox: OutboxModuleOptions): DynamicModule[] {
  const source = new OpenDataSource({ type: 'postgres', url, poolSize: 5 });
  const database = {
    module: nestModule({}, 'DatabaseModule'),
    global: true,
    providers: [{ provide: OpenDataSource, useFactory: () => source.initialize() }],
    exports: [OpenDataSource],
  };
  const { stuckThreshold: claimTimeoutMs = 300_000 } = outbox;
  return [
    database,
    OutboxModule.forRootAsync({
      inject: [OpenDataSource],
      useFactory: (dataSource: DataSource) => ({
        ...outbox,
        store: OutboxTypeormModule.forRoot({ dataSource, claimTimeoutMs }),
      }),
      tokens: [TypeormOutboxStore],
    }),
  ];
}

/** Listens on a free port. */
export async function openShop(
  options: ShopOptions,
  logger: LoggerService | false = false,
): Promise<{ nest: INestApplication; url: string }> {
  const nest = await NestFactory.create(shopModule(options), { logger, abortOnError: false });
  await nest.listen(0, '127.0.0.1');
  return { nest, url: await nest.getUrl() };
}

export async function postOrders(url: string, ids: readonly string[], fails = false): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ ids, fails });
  return (await fetch(`${url}/orders`, { method: 'POST', headers, body })).status;
}

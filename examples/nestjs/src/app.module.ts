import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { OutboxSchema } from '@postcommit/core';
import { OutboxModule } from '@postcommit/nestjs';
import { typeormStore } from '@postcommit/store-typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { OrderConfirmation } from './order-confirmation.js';
import { OrdersController } from './orders.controller.js';

class Database extends DataSource implements OnApplicationShutdown {
  async onApplicationShutdown(): Promise<void> {
    await this.destroy();
  }
}

async function openDataSource(): Promise<DataSource> {
  const options: DataSourceOptions = { type: 'postgres', url: String(process.env.DATABASE_URL) };
  return new Database(options).initialize();
}

/** Stands for `TypeOrmModule` of `@nestjs/typeorm`. */
@Global()
@Module({ providers: [{ provide: DataSource, useFactory: openDataSource }], exports: [DataSource] })
class DatabaseModule {}

@Module({
  imports: [
    DatabaseModule,
    OutboxModule.forRootAsync({
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => ({
        store: typeormStore(dataSource),
        polling: { interval: 200 },
        retry: { maxRetries: 3, initialDelay: 100 },
      }),
      tokens: [OutboxSchema],
    }),
  ],
  controllers: [OrdersController],
  providers: [OrderConfirmation],
})
export class AppModule {}

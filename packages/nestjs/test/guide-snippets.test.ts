import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import type { DynamicModule } from '@nestjs/common';
import {
  OutboxPublisher,
  type OutboxRoute,
  OutboxRoutes,
  type OutboxRow,
  OutboxSchema,
  OutboxStore,
} from '@postcommit/core';
import { OnOutboxEvent, OutboxEmitter, OutboxHealthIndicator, OutboxModule } from '@postcommit/nestjs';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { beforeEach, expect, it, vi } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { PrismaService } from './guide-app/prisma.service.js';
import { nestModule, openContext } from './nest-app.js';

const fixture = usePostgres();
const eventually = { timeout: 30_000, interval: 20 };

beforeEach(async () => {
  await fixture.query('truncate outbox');
  handled.length = 0;
});

const handled: string[] = [];

class Orders {
  @OnOutboxEvent('order.*')
  on(payload: unknown): void {
    handled.push(`here: ${payload}`);
  }
}

it('the guide shows the code that is run here', () => {
  const dedent = (code: string): string => code.replace(/^ {2}/gm, '').trim();
  const here = readFileSync(new URL(import.meta.url), 'utf8');
  const guide = readFileSync(new URL('../../../docs/guides/nestjs.md', import.meta.url), 'utf8');
  const regions = [...here.matchAll(/#region \w+\n([\s\S]*?) *\/\/ #endregion/g)].map(([, code = '']) =>
    dedent(code),
  );
  const blocks = [...guide.matchAll(/```ts\n(?!\/\/ src)([\s\S]*?)```/g)].map(([, code = '']) => code.trim());
  expect(regions.map((code) => code.replace(/^(const \w+ =|return) (?=OutboxModule|this)/gm, ''))).toEqual(
    blocks,
  );
});

it('TypeORM', async () => {
  const source = new DataSource({ type: 'postgres', url: fixture.url });
  const database: DynamicModule = {
    module: nestModule({}, 'DatabaseModule'),
    global: true,
    providers: [{ provide: DataSource, useFactory: () => source.initialize() }],
    exports: [DataSource],
  };

  // #region typeorm
  const outbox = OutboxModule.forRootAsync({
    inject: [DataSource],
    useFactory: (dataSource: DataSource) => ({ store: OutboxTypeormModule.forRoot({ dataSource }) }),
    tokens: [OutboxSchema],
  });
  // #endregion

  const nest = await openContext({ imports: [database, outbox], providers: [Orders] });
  await nest.get(OutboxSchema).ensure();
  await source.transaction((em) => nest.get(OutboxEmitter).emit(em, { topic: 'order.paid', payload: 'o1' }));
  await vi.waitUntil(() => handled.length > 0, eventually);
  expect(handled).toEqual(['here: o1']);
  await nest.close();
  await source.destroy();
});

it('a broker for some events', async () => {
  process.env.DATABASE_URL = fixture.url;
  class Kafka extends OutboxPublisher {
    async publish({ payload }: OutboxRow): Promise<void> {
      handled.push(`kafka: ${payload}`);
    }
  }
  const kafka = new Kafka();

  // #region broker
  const payments: OutboxRoute = {
    name: 'payments',
    matches: ({ topic }) => topic.startsWith('payments.'),
    publisher: kafka,
  };
  const outbox = OutboxModule.forRoot({
    prisma: PrismaService,
    modules: [{ name: 'payments', contributes: [{ to: OutboxRoutes, useValue: payments }] }],
  });
  // #endregion

  const nest = await openContext({ imports: [outbox], providers: [PrismaService, Orders] });
  await nest.get(PrismaService).$transaction((tx) =>
    nest.get(OutboxEmitter).emitMany(tx, [
      { topic: 'payments.made', payload: 'p1' },
      { topic: 'order.paid', payload: 'o1' },
    ]),
  );
  await vi.waitUntil(async () => (await nest.get(OutboxStore).count()).dispatched === 2, eventually);
  expect(handled).toEqual(['kafka: p1', 'here: o1']);
});

it('rolling deployments', async () => {
  process.env.DATABASE_URL = fixture.url;

  // #region rolling
  const outbox = OutboxModule.forRoot({ prisma: PrismaService, onNoListener: 'release' });
  // #endregion

  const nest = await openContext({ imports: [outbox], providers: [PrismaService, Orders] });
  await nest
    .get(PrismaService)
    .$transaction((tx) => nest.get(OutboxEmitter).emit(tx, { topic: 'invoice.sent', payload: 1 }));
  await vi.waitUntil(async () => (await nest.get(OutboxStore).peek({}, 1))[0]?.attempts === 1, eventually);
  expect(await nest.get(OutboxStore).count()).toMatchObject({ pending: 1, dead: 0 });
});

it('health', async () => {
  process.env.DATABASE_URL = fixture.url;
  const outbox = OutboxModule.forRoot({ prisma: PrismaService });
  const nest = await openContext({ imports: [outbox], providers: [PrismaService] });

  /** As `HealthCheckService` of terminus calls its indicators. */
  class Terminus {
    async check(
      indicators: (() => PromiseLike<Record<string, { status: 'up' | 'down' }>>)[],
    ): Promise<unknown[]> {
      return Promise.all(indicators.map((indicator) => indicator()));
    }
  }
  class HealthController {
    constructor(
      private readonly health: Terminus,
      private readonly outbox: OutboxHealthIndicator,
    ) {}

    read(): Promise<unknown[]> {
      // #region health
      return this.health.check([() => this.outbox.isHealthy('outbox', { maxOldestPendingAgeMs: 60_000 })]);
      // #endregion
    }
  }
  const controller = new HealthController(new Terminus(), nest.get(OutboxHealthIndicator));
  expect(await controller.read()).toMatchObject([{ outbox: { status: 'up', oldestPendingAgeMs: 0 } }]);
});

import type { INestApplicationContext } from '@nestjs/common';
import { OutboxStore } from '@postcommit/core';
import { OnOutboxEvent, OutboxEmitter, OutboxModule } from '@postcommit/nestjs';
import { expect, it, vi } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { PrismaService } from './guide-app/prisma.service.js';
import { openContext } from './nest-app.js';

const fixture = usePostgres();
const EVENTS = 300;
const eventually = { timeout: 60_000, interval: 20 };

class OldHandlers {
  @OnOutboxEvent('order.created')
  created(): void {}
}

class NewHandlers extends OldHandlers {
  readonly refunded: unknown[] = [];

  @OnOutboxEvent('order.refunded')
  refund(payload: unknown): void {
    this.refunded.push(payload);
  }
}

function openInstance(handlers: new () => OldHandlers): Promise<INestApplicationContext> {
  const polling = { interval: 100, batchSize: 10 };
  const outbox = OutboxModule.forRoot({ prisma: PrismaService, onNoListener: 'release', polling });
  return openContext({ imports: [outbox], providers: [PrismaService, handlers] });
}

function emit(nest: INestApplicationContext, topic: string, count: number): Promise<unknown> {
  const events = Array.from({ length: count }, (_, payload) => ({ topic, payload }));
  return nest.get(PrismaService).$transaction((tx) => nest.get(OutboxEmitter).emitMany(tx, events));
}

it('a new event type survives busy old instances', { timeout: 120_000 }, async () => {
  process.env.DATABASE_URL = fixture.url;
  const old = await openInstance(OldHandlers);
  const next = await openInstance(NewHandlers);
  const store = next.get(OutboxStore);
  await emit(next, 'order.refunded', EVENTS);
  const isReleased = async (): Promise<boolean> => {
    await emit(old, 'order.created', 1);
    return (await store.peek({ topic: 'order.refunded', error: 'released for one with' }, 1)).length > 0;
  };
  await vi.waitUntil(isReleased, eventually);
  await old.close();

  await vi.waitUntil(async () => (await store.backlog(1)).pending === 0, eventually);
  expect(await store.count()).toMatchObject({ pending: 0, dead: 0 });
  const payloads = next.get(NewHandlers).refunded.map(Number);
  expect([...new Set(payloads)].sort((a, b) => a - b)).toEqual(Array.from({ length: EVENTS }, (_, n) => n));
});

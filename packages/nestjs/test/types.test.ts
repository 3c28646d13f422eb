import type { OutboxRow, Token } from '@postcommit/core';
import {
  OnOutboxEvent,
  type OutboxEmitter,
  type OutboxEventContext,
  type OutboxModuleOptions,
} from '@postcommit/nestjs';
import type { EntityManager } from 'typeorm';
import { describe, expectTypeOf, it } from 'vitest';
import type { Prisma, PrismaClient } from '../../store-prisma/test/gen/client.js';
import type { EventPayload } from '../src/outbox-event.js';
import type { PrismaService } from './guide-app/prisma.service.js';

class OrderCreated {
  static readonly eventType = 'order.created';
  readonly orderId: string = 'o1';
  readonly at = new Date(0);
  readonly lines: { readonly sku: string; readonly due: Date | null }[] = [];

  label(): string {
    return this.orderId;
  }
}

class OrderPaid {
  static readonly eventType = 'order.paid';
  readonly amount = 1;
}

describe('types', () => {
  it('describe what arrives: fields without methods, dates as strings', () => {
    expectTypeOf<EventPayload<OrderCreated>>().toEqualTypeOf<{
      readonly orderId: string;
      readonly at: string;
      readonly lines: { readonly sku: string; readonly due: string | null }[];
    }>();
  });

  it('let a handler take what arrives, and nothing else', () => {
    class Handlers {
      @OnOutboxEvent(OrderCreated)
      fields({ orderId, at }: EventPayload<OrderCreated>, { attempt, signal }: OutboxEventContext): void {
        expectTypeOf({ orderId, at, attempt, signal }).toEqualTypeOf<{
          orderId: string;
          at: string;
          attempt: number;
          signal: AbortSignal;
        }>();
      }

      // @ts-expect-error: the date and the method of the class don't survive.
      @OnOutboxEvent(OrderCreated)
      instance(_event: OrderCreated): void {}

      @OnOutboxEvent([OrderCreated, OrderPaid])
      either(_event: EventPayload<OrderCreated> | OrderPaid): void {}

      // @ts-expect-error: the other event of the list comes too.
      @OnOutboxEvent([OrderCreated, OrderPaid])
      one(_event: OrderPaid): void {}

      @OnOutboxEvent('order.*')
      pattern(_payload: unknown, { topic }: OutboxEventContext): string {
        return topic;
      }

      // @ts-expect-error: nobody declared what the payload of these topics is.
      @OnOutboxEvent('order.*')
      guess(_payload: { id: string }): void {}
    }
    expectTypeOf<Handlers>().toBeObject();
  });

  it('reject a Prisma client as a transaction', () => {
    type Handle = Parameters<OutboxEmitter['emit']>[0];
    expectTypeOf<PrismaClient>().not.toExtend<Handle>();
    expectTypeOf<Prisma.TransactionClient>().toExtend<Handle>();
    expectTypeOf<EntityManager>().toExtend<Handle>();
  });

  it('accept the class of a Prisma client, or a client, and a publisher in every form', () => {
    expectTypeOf<typeof PrismaService>().toExtend<NonNullable<OutboxModuleOptions['prisma']>>();
    expectTypeOf<PrismaClient>().toExtend<NonNullable<OutboxModuleOptions['prisma']>>();
    expectTypeOf<(row: OutboxRow) => Promise<void>>().toExtend<
      NonNullable<OutboxModuleOptions['transport']>
    >();
    expectTypeOf<Token<string>>().not.toExtend<NonNullable<OutboxModuleOptions['prisma']>>();
  });
});

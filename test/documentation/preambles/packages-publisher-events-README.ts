import type { Module } from '@postcommit/core';
import type { OutboxEvent } from '@postcommit/publisher-events';
import { EntitySchema } from 'typeorm';

export { Injectable } from '@postcommit/core';
export {
  EventBus,
  EventsMemoryModule,
  EventsModule,
  OnEvent,
  OutboxEvent,
} from '@postcommit/publisher-events';

export declare const customerId: string;
export declare const event: OutboxEvent;
export declare const OrdersModule: Module;
export declare const processed: import('@postcommit/core').ProcessedMessages;

export class Orders {
  async setPaid(_payload: unknown): Promise<void> {}
}

export class OrderShipped {
  constructor(readonly id: string) {}
}

export const Customer: EntitySchema<{ id: string; orders: number }> = new EntitySchema({
  name: 'Customer',
  columns: { id: { type: String, primary: true }, orders: { type: Number } },
});

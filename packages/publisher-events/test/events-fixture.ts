import {
  OutboxDispatcher,
  type OutboxErrorCode,
  type OutboxPublisher,
  type OutboxRow,
} from '@postcommit/core';
import type { DispatcherOptions } from '@postcommit/core/internal';
import { MemoryOutboxStore, MemoryTable, VirtualClock } from '@postcommit/store-memory';
import { expect } from 'vitest';

export const paid = { topic: 'order.paid', payload: { id: '7' } };

export interface OutboxFixture {
  readonly clock: VirtualClock;
  readonly store: MemoryOutboxStore;
  dispatcher(options?: DispatcherOptions): OutboxDispatcher;
  /** The only row, as it is stored now. */
  row(): Promise<OutboxRow>;
}

/** A memory store and a dispatcher on one virtual clock. */
export function openOutbox(publisher: OutboxPublisher): OutboxFixture {
  const clock = new VirtualClock();
  const store = new MemoryOutboxStore({ table: new MemoryTable(clock) });
  return {
    clock,
    store,
    dispatcher: (options) => new OutboxDispatcher(store, publisher, { clock, ...options }),
    row: () => onlyRow(store),
  };
}

export async function onlyRow(store: Pick<MemoryOutboxStore, 'peek'>): Promise<OutboxRow> {
  const [row, ...more] = await store.peek({}, 2);
  if (!row || more.length > 0) throw new Error('not exactly one row');
  return row;
}

export function rowWith(fields: Partial<OutboxRow> = {}): OutboxRow {
  const at = new Date(0);
  const defaults = {
    id: 'row-1',
    headers: {},
    createdAt: at,
    availableAt: at,
    attempts: 0,
    retakes: 0,
    retry: {},
  };
  return { ...paid, ...defaults, ...fields };
}

/** Matches an `OutboxError` with this code whose message contains `message`. */
export function refusal(code: OutboxErrorCode, message: string): unknown {
  return expect.objectContaining({ name: 'OutboxError', code, message: expect.stringContaining(message) });
}

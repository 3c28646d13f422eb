import { setTimeout } from 'node:timers/promises';
import type { OutboxRow } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import type { Case, Setting } from '../case.js';
import { scaled } from '../lines.js';
import { settleDown } from '../place.js';
import { count } from '../statistics.js';
import type { Place } from '../subject.js';
import { createOutbox } from '../subjects/outbox-table.js';
import { runApplication } from '../subjects/postcommit.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { COLUMNS, cellsOf } from './latency.js';

const LATER = 'message for later';
const RETRY = 'retry';
const RETRY_MS = 700;
/** Beyond the last due time. */
const GRACE_MS = 4_000;

/** How late a worker is for what falls due while it sleeps. */
export function dueCase(setting: Setting): Case {
  const messages = scaled(setting, 200, 20);
  const trial = (line: string, run: (place: Place, messages: number) => Promise<number[]>) => ({
    line,
    columns: COLUMNS,
    seconds: 16,
    run: async (place: Place) => {
      await createOutbox(place);
      await settleDown(place);
      return cellsOf({ ms: await run(place, messages), sent: messages });
    },
  });
  return {
    id: 'due',
    title: 'Lateness of what falls due',
    about: `From the due time to the publisher's call, of ${count(messages)} messages, one every 50 ms: for 0.1 to 3 s later, enqueued by a store that the worker does not know; and retries after ${RETRY_MS} ms.`,
    columns: COLUMNS.map((name) => ({ name, unit: 'ms', isLessBetter: true })),
    trials: setting.subjects.includes(postcommitPg)
      ? [trial(LATER, lateForLater), trial(RETRY, lateForRetry)]
      : [],
    targets: [LATER, RETRY].map((line) => ({ of: [line, 'p99'] as const, to: 50, atMost: 1 })),
  };
}

async function lateForLater(place: Place, messages: number): Promise<number[]> {
  const ms: number[] = [];
  const publisher = async ({ payload }: OutboxRow): Promise<void> => {
    ms.push(Date.now() - (payload as { dueAt: number }).dueAt);
  };
  await enqueueWhile(place, { publisher }, messages, (index) => 100 + ((index * 997) % 2_900));
  return ms;
}

async function lateForRetry(place: Place, messages: number): Promise<number[]> {
  const ms: number[] = [];
  const dueAt = new Map<string, number>();
  const publisher = async ({ id }: OutboxRow): Promise<void> => {
    const due = dueAt.get(id);
    dueAt.set(id, performance.now() + RETRY_MS);
    if (due === undefined) throw new Error('not yet');
    ms.push(performance.now() - due);
  };
  const backoff = { type: 'fixed', delayMs: RETRY_MS } as const;
  await enqueueWhile(place, { publisher, backoff }, messages, () => 0);
  return ms;
}

async function enqueueWhile(
  place: Place,
  options: Parameters<typeof runApplication>[1],
  messages: number,
  delayMsOf: (index: number) => number,
): Promise<void> {
  const { stop } = await runApplication(OutboxPgModule.forRoot({ pool: place.pool }), options);
  const store = new PgOutboxStore(place.pool);
  try {
    for (let index = 0; index < messages; index++) {
      const delayMs = delayMsOf(index);
      const dueAt = Date.now() + delayMs;
      const later = delayMs > 0 ? { availableAt: new Date(dueAt) } : {};
      await store.enqueue({ topic: 'order.paid', payload: { dueAt }, ...later });
      await setTimeout(50);
    }
    await setTimeout(GRACE_MS);
  } finally {
    await store.flushWakeup();
    await stop();
  }
}

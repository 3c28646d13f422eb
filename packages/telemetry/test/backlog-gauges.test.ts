import { setImmediate } from 'node:timers/promises';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { composeModules, type OutboxBacklog } from '@postcommit/core';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { composeOutbox, type TestOutbox } from './compose-outbox.js';
import { soleValue, useOpenTelemetry } from './use-opentelemetry.js';

const otel = useOpenTelemetry();
const entry = { topic: 'order.paid', payload: {} };
const published = async (): Promise<void> => {};
let warnings: string[] = [];

beforeEach(() => {
  warnings = [];
  const ignore = (): void => {};
  const warn = (message: string): void => void warnings.push(message);
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
});
afterEach(() => diag.disable());

async function gauges(): Promise<unknown[]> {
  const collected = await otel.collect();
  return [
    soleValue(collected.get('outbox.pending')),
    soleValue(collected.get('outbox.oldest_pending.age_seconds')),
  ];
}

/** A backlog that is answered by hand. */
function answerByHand({ store }: TestOutbox): { asked: number; answer(backlog: OutboxBacklog): void } {
  const hand = { asked: 0, answer: (_: OutboxBacklog): void => {} };
  store.backlog = () => {
    hand.asked += 1;
    return new Promise((resolve) => {
      hand.answer = resolve;
    });
  };
  return hand;
}

describe('the backlog', () => {
  test('is what the table has at the time of collection', async () => {
    const { app, store, clock, dispatcher } = composeOutbox(published);
    await app.start();
    expect(await gauges()).toEqual([0, 0]);
    await store.enqueue([entry, entry]);
    await clock.advance(1_500);
    expect(await gauges()).toEqual([2, 1.5]);
    await dispatcher.dispatchPending();
    expect(await gauges()).toEqual([0, 0]);
    await app.stop();
  });

  test('is read only between start and stop', async () => {
    const { app, store } = composeOutbox(published);
    let asked = 0;
    store.backlog = async () => {
      asked += 1;
      return { pending: 0, due: 0, oldestPendingAgeMs: 0 };
    };
    const askedPerStep: number[] = [];
    for (const step of [
      async () => {},
      () => app.start(),
      () => app.stop(),
      () => app.start(),
      () => app.stop(),
    ]) {
      await step();
      await otel.collect();
      askedPerStep.push(asked);
    }
    expect(askedPerStep).toEqual([0, 1, 1, 2, 2]);
  });

  test('is counted up to a limit', async () => {
    const { app, store } = composeOutbox(published, {}, { backlogAtMost: 2 });
    await app.start();
    await store.enqueue([entry, entry, entry]);
    expect((await gauges())[0]).toBe(2);
    await app.stop();
  });

  test.each([
    ['rejects', () => Promise.reject(new Error('no route to postgres://app:hunter2@db'))],
    [
      'throws',
      () => {
        throw new Error('no route to postgres://app:hunter2@db');
      },
    ],
  ])('is counted as unread if the store %s, and everything else is exported', async (_, backlog) => {
    const { app, store, dispatcher } = composeOutbox(published);
    await app.start();
    await store.enqueue(entry);
    await dispatcher.dispatchPending();
    store.backlog = backlog;
    const collected = await otel.collect();
    expect(soleValue(collected.get('outbox.dispatched'))).toBe(1);
    expect(collected.get('outbox.pending')?.dataPoints ?? []).toEqual([]);
    expect(soleValue(collected.get('outbox.backlog.failures'))).toBe(1);
    expect(warnings).toEqual(['could not read the outbox backlog: no route to postgres://***@db']);
    await app.stop();
  });

  test('is unread if the store does not answer in time, and is not queried again for each collection', async () => {
    const outbox = composeOutbox(published, {}, { backlogTimeoutMs: 2_000 });
    const { app, clock, dispatcher } = outbox;
    const hand = answerByHand(outbox);
    await app.start();
    await dispatcher.dispatchPending();
    for (let collection = 0; collection < 2; collection++) {
      const collecting = otel.collect();
      await clock.advance(2_000);
      const collected = await collecting;
      expect(collected.get('outbox.pending')?.dataPoints ?? []).toEqual([]);
      expect(soleValue(collected.get('outbox.dispatched'))).toBe(0);
      expect(soleValue(collected.get('outbox.backlog.failures'))).toBe(collection + 1);
    }
    expect(hand.asked).toBe(1);
    expect(warnings).toEqual(Array(2).fill('could not read the outbox backlog: no answer in 2000 ms'));
    hand.answer({ pending: 1, due: 1, oldestPendingAgeMs: 0 });
    await setImmediate();
    const collecting = gauges();
    await setImmediate();
    hand.answer({ pending: 7, due: 7, oldestPendingAgeMs: 3_000 });
    expect(await collecting).toEqual([7, 3]);
    expect(hand.asked).toBe(2);
    await app.stop();
  });

  test('is silently abandoned when the application stops, and no timer remains', async () => {
    const outbox = composeOutbox(published);
    answerByHand(outbox);
    let timers = 0;
    outbox.clock.schedule = () => {
      timers += 1;
      return () => {
        timers -= 1;
      };
    };
    await outbox.app.start();
    const collecting = otel.collect();
    await setImmediate();
    expect(timers).toBe(1);
    await outbox.app.stop();
    expect(soleValue((await collecting).get('outbox.backlog.failures'))).toBe(0);
    expect(timers).toBe(0);
    expect(warnings).toEqual([]);
  });

  test('is not read if no store is bound', async () => {
    const app = composeModules([OutboxTelemetryModule]);
    await app.start();
    expect(await gauges()).toEqual([undefined, undefined]);
    await app.stop();
    expect(warnings).toEqual([]);
  });
});

describe('forRoot', () => {
  test.each([
    [{ publishParent: 'child' as never }, "publishParent must be 'link' or 'parent', got 'child'"],
    [{ backlogAtMost: 0 }, 'backlogAtMost must be a whole number from 1, got 0'],
    [{ backlogTimeoutMs: Number.NaN }, 'backlogTimeoutMs must be at least 1 and below 2^31, got NaN'],
    [{ backlogTimeoutMs: 2 ** 31 }, 'backlogTimeoutMs must be at least 1 and below 2^31, got 2147483648'],
  ])('refuses %j', (options, message) => {
    expect(() => OutboxTelemetryModule.forRoot(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message }),
    );
  });
});

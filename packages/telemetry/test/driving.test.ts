import { setImmediate } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';
import {
  composeModules,
  DispatchEvents,
  EnqueuePipeline,
  OutboxDispatcher,
  OutboxInterceptors,
  OutboxModule,
  OutboxPublisher,
  type OutboxRow,
  OutboxStore,
  type PublishResult,
} from '@postcommit/core';
import { MemoryOutboxStore, OutboxMemoryModule } from '@postcommit/store-memory';
import { OutboxTelemetryModule, TelemetryInterceptor } from '@postcommit/telemetry';
import { describe, expect, test } from 'vitest';
import { composeOutbox } from './compose-outbox.js';
import { only, soleValue, useOpenTelemetry } from './use-opentelemetry.js';

const otel = useOpenTelemetry();
const entry = { topic: 'order.paid', payload: {} };

/** Starts an application with its worker, lets it dispatch one entry, and stops it. */
async function dispatchByWorker(): Promise<void> {
  const app = composeModules([
    OutboxModule.forRoot({ publisher: async () => {} }),
    OutboxMemoryModule,
    OutboxTelemetryModule,
  ]);
  const settled = new Promise((resolve) => app.get(DispatchEvents).on('batch', resolve));
  await app.start();
  await app.get(OutboxStore).enqueue(entry);
  await settled;
  await app.stop();
}

describe('a worker', () => {
  test('is traced and counted like the dispatcher', async () => {
    await dispatchByWorker();
    expect(otel.span('outbox dispatch').attributes).toMatchObject({
      'outbox.fetched': 1,
      'outbox.dispatched': 1,
    });
    expect(otel.span('outbox publish').parentSpanContext?.spanId).toBe(
      otel.span('outbox dispatch').spanContext().spanId,
    );
    expect(soleValue((await otel.collect()).get('outbox.dispatched'))).toBe(1);
  });

  test('starts a trace for each batch, even if the application was started inside a span', async () => {
    const bootstrap = await otel.inTrace(dispatchByWorker);
    const dispatch = otel.span('outbox dispatch');
    expect(otel.span('outbox enqueue').spanContext().traceId).toBe(bootstrap.traceId);
    expect(dispatch.parentSpanContext).toBeUndefined();
    expect(dispatch.spanContext().traceId).not.toBe(bootstrap.traceId);
  });
});

test('a dispatch belongs to the span that asked for it', async () => {
  const { app, dispatcher } = composeOutbox(async () => {});
  await app.start();
  const request = await otel.inTrace(() => dispatcher.dispatchPending());
  expect(otel.span('outbox dispatch').parentSpanContext?.spanId).toBe(request.spanId);
  await app.stop();
});

describe('a publisher of batches', () => {
  class BatchPublisher extends OutboxPublisher {
    rows: readonly OutboxRow[] = [];
    activeSpanId: string | undefined;

    publish(): Promise<void> {
      throw new Error('publishBatch is there');
    }

    override async publishBatch(rows: readonly OutboxRow[]): Promise<PublishResult[]> {
      this.rows = rows;
      this.activeSpanId = trace.getActiveSpan()?.spanContext().spanId;
      return rows.map(({ topic }) =>
        topic === 'fails' ? { status: 'rejected', reason: new Error('no leader') } : { status: 'fulfilled' },
      );
    }
  }

  test('has a span for each row, whose headers name it, inside one dispatch', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warn);
    const publisher = new BatchPublisher();
    const app = composeModules([
      OutboxModule.forRoot({ publisher }),
      OutboxMemoryModule,
      OutboxTelemetryModule,
    ]);
    await app
      .get(OutboxStore)
      .enqueue([...Array<typeof entry>(30).fill(entry), { ...entry, topic: 'fails' }]);
    await app.get(OutboxDispatcher).dispatchPending();
    const spans = otel.spans('outbox publish');
    const sent = publisher.rows.map(({ id, headers }) => `${id} ${headers.traceparent?.split('-')[2]}`);
    expect(sent.sort()).toEqual(
      spans.map((span) => `${span.attributes['outbox.row_id']} ${span.spanContext().spanId}`).sort(),
    );
    expect(sent).toHaveLength(31);
    expect(only(spans.filter(({ status }) => status.message === 'no leader')).attributes).toMatchObject({
      'outbox.topic': 'fails',
    });
    expect(publisher.activeSpanId).toBe(otel.span('outbox dispatch').spanContext().spanId);
    // Node emits warnings in the next turn.
    await setImmediate();
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });
});

test('all rows of an abandoned batch end as errors', async () => {
  const { app, store, clock } = composeOutbox(async () => {});
  const stuck = {
    publish: () => new Promise<void>(() => {}),
    publishBatch: () => new Promise<never>(() => {}),
  };
  const interceptors = app.get(OutboxInterceptors);
  const dispatcher = new OutboxDispatcher(store, stuck, { clock, publishTimeoutMs: 1_000, interceptors });
  await store.enqueue([entry, entry]);
  const batch = dispatcher.dispatchPending();
  await clock.advance(1_000);
  expect(await batch).toMatchObject({ failed: 2 });
  expect(otel.spans('outbox publish').map(({ status }) => status.message)).toEqual(
    Array(2).fill('publish took longer than 1000 ms'),
  );
});

test('the interceptor works without modules', async () => {
  const interceptors = [new TelemetryInterceptor({ publishParent: 'parent' })];
  const store = new MemoryOutboxStore({ pipeline: new EnqueuePipeline({ interceptors }) });
  await store.enqueue(entry);
  await new OutboxDispatcher(store, async () => {}, { interceptors }).dispatchPending();
  expect(otel.span('outbox publish').parentSpanContext?.spanId).toBe(
    otel.span('outbox enqueue').spanContext().spanId,
  );
});

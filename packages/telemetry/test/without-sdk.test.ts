import { context, propagation, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { OutboxRow, PublishContext } from '@postcommit/core';
import { MemoryOutboxStore } from '@postcommit/store-memory';
import { TelemetryInterceptor } from '@postcommit/telemetry';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { composeOutbox } from './compose-outbox.js';

const entry = { topic: 'order.paid', payload: {} };
const summary = { fetched: 0, dispatched: 0, failed: 0, dead: 0, fenced: 0 };

async function claimedRow(): Promise<OutboxRow> {
  const store = new MemoryOutboxStore();
  await store.enqueue(entry);
  const [row] = await store.fetchPending(1);
  if (!row) throw new Error('no row');
  return row;
}

describe('without an SDK', () => {
  test('an enqueue hands on the very same entries', async () => {
    const entries = [entry];
    const next = vi.fn(async () => ['a']);
    await new TelemetryInterceptor().enqueue(entries, next);
    expect(next.mock.calls[0]).toEqual([entries]);
    expect((next.mock.calls as unknown[][])[0]?.[0]).toBe(entries);
  });

  test('a publish is the publisher’s own promise, with the same row and context, whose signal is not asked for', async () => {
    const row = await claimedRow();
    const signal = vi.fn(() => AbortSignal.abort());
    const publishContext: PublishContext = {
      attempt: 1,
      get signal() {
        return signal();
      },
    };
    const promise = Promise.resolve();
    const calls: unknown[][] = [];
    const result = new TelemetryInterceptor().publish(row, publishContext, (...args) => {
      calls.push(args);
      return promise;
    });
    expect(result).toBe(promise);
    expect(calls[0]?.[0]).toBe(row);
    expect(calls[0]?.[1]).toBe(publishContext);
    expect(signal).not.toHaveBeenCalled();
  });

  test('nothing is read from the row, and no span is started', async () => {
    const startSpan = vi.spyOn(trace, 'setSpan');
    const untouchable = new Proxy({} as OutboxRow, {
      get: (_, name) => {
        throw new Error(`read ${String(name)}`);
      },
    });
    const interceptor = new TelemetryInterceptor();
    await interceptor.publish(untouchable, {} as PublishContext, async () => {});
    await interceptor.dispatch(10, async () => summary);
    expect(startSpan).not.toHaveBeenCalled();
    startSpan.mockRestore();
  });

  test('rows are stored without headers, dispatched, and the application starts and stops', async () => {
    const { app, store, dispatcher } = composeOutbox(async () => {});
    await app.start();
    await store.enqueue(entry);
    expect(await store.peek({}, 1)).toMatchObject([{ headers: {} }]);
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1 });
    await app.stop();
  });
});

describe('with a propagator, but without a tracer', () => {
  afterEach(() => {
    context.disable();
    propagation.disable();
  });

  test('a trace that passes through is carried by the row', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    const passing = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED };
    const sent: unknown[] = [];
    const { store, dispatcher } = composeOutbox(async ({ headers }) => void sent.push(headers));
    await context.with(trace.setSpanContext(ROOT_CONTEXT, passing), () => store.enqueue(entry));
    await dispatcher.dispatchPending();
    expect(sent).toEqual([{ traceparent: `00-${passing.traceId}-${passing.spanId}-01` }]);
  });
});

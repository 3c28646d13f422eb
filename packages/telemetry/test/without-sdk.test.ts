import { context, propagation, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { TelemetryInterceptor } from '@postcommit/telemetry';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { composeOutbox } from './compose-outbox.js';

const entry = { topic: 'order.paid', payload: {} };
const summary = { fetched: 0, dispatched: 0, failed: 0, dead: 0, fenced: 0 };

describe('without an SDK', () => {
  test('an enqueue passes on the same entries', async () => {
    const entries = [entry];
    const next = vi.fn(async () => ['a']);
    await new TelemetryInterceptor().enqueue(entries, next);
    expect(next.mock.calls[0]).toEqual([entries]);
    expect((next.mock.calls as unknown[][])[0]?.[0]).toBe(entries);
  });

  test('a publish goes straight to the publisher, without a layer around it', () => {
    expect(new TelemetryInterceptor().publish).toBeUndefined();
  });

  test('no span is started', async () => {
    const startSpan = vi.spyOn(trace, 'setSpan');
    await new TelemetryInterceptor().dispatch(10, async () => summary);
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

  test('a trace from outside is stored with the row', async () => {
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

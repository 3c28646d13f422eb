import { context, propagation, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { suppressTracing, TraceState } from '@opentelemetry/core';
import type { OutboxRow } from '@postcommit/core';
import type { OutboxHeaders } from '@postcommit/core/internal';
import { describe, expect, test } from 'vitest';
import { composeOutbox, type TestOutbox } from './compose-outbox.js';
import { linksOf, only, useOpenTelemetry } from './use-opentelemetry.js';

const otel = useOpenTelemetry();
const entry = { topic: 'order.paid', payload: {} };
const foreign = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const foreignParent = `00-${foreign.traceId}-${foreign.spanId}-01`;

/** An outbox whose publisher remembers the rows, and which span was active. */
function recording(telemetry: Parameters<typeof composeOutbox>[2] = {}): TestOutbox & {
  rows: OutboxRow[];
  active: (string | undefined)[];
} {
  const rows: OutboxRow[] = [];
  const active: (string | undefined)[] = [];
  const outbox = composeOutbox(
    async (row) => {
      await Promise.resolve();
      rows.push(row);
      active.push(trace.getActiveSpan()?.spanContext().spanId);
    },
    {},
    telemetry,
  );
  return { ...outbox, rows, active };
}

async function storedHeaders({ store }: TestOutbox): Promise<OutboxHeaders> {
  return only(await store.peek({}, 10)).headers;
}

function traceparent({ traceId, spanId }: { traceId: string; spanId: string }): string {
  return `00-${traceId}-${spanId}-01`;
}

describe('the context of an entry', () => {
  test('is the enqueuing span', async () => {
    const outbox = recording();
    await outbox.store.enqueue({ ...entry, headers: { tenant: 'a' } });
    const span = otel.span('outbox enqueue').spanContext();
    expect(await storedHeaders(outbox)).toEqual({ tenant: 'a', traceparent: traceparent(span) });
  });

  test('is the same in a transaction', async () => {
    const outbox = recording();
    await outbox.store.transaction((tx) => outbox.store.enqueueWith(tx, entry));
    const span = otel.span('outbox enqueue').spanContext();
    expect(await storedHeaders(outbox)).toEqual({ traceparent: traceparent(span) });
  });

  test('does not change the caller’s object', async () => {
    const mine = Object.freeze({ ...entry, headers: Object.freeze({ tenant: 'a' }) });
    await recording().store.enqueue(mine);
    expect(mine.headers).toEqual({ tenant: 'a' });
  });

  test.each(['traceparent', 'Traceparent', 'TRACEPARENT'])('is the caller’s own %s, alone', async (name) => {
    const outbox = recording();
    const active = trace.setSpanContext(ROOT_CONTEXT, {
      ...foreign,
      spanId: 'c'.repeat(16),
      traceFlags: TraceFlags.SAMPLED,
      traceState: new TraceState('vendor=1'),
    });
    await context.with(active, () => outbox.store.enqueue({ ...entry, headers: { [name]: foreignParent } }));
    expect(await storedHeaders(outbox)).toEqual({ [name]: foreignParent });
  });

  test('includes the caller’s own baggage, beside the span', async () => {
    const outbox = recording();
    const active = propagation.setBaggage(
      ROOT_CONTEXT,
      propagation.createBaggage({ tenant: { value: 'b' } }),
    );
    await context.with(active, () => outbox.store.enqueue({ ...entry, headers: { baggage: 'tenant=a' } }));
    expect(await storedHeaders(outbox)).toEqual({
      baggage: 'tenant=a',
      traceparent: traceparent(otel.span('outbox enqueue').spanContext()),
    });
  });

  test('never makes an entry too large', async () => {
    const outbox = recording();
    const headers = { filler: 'x'.repeat(65_536 - 'filler'.length) };
    await outbox.store.enqueue({ ...entry, headers });
    expect(await storedHeaders(outbox)).toEqual(headers);
  });

  test('contains nothing that a header may not contain', async () => {
    const outbox = recording();
    const metadata = { __TYPE__: Symbol('metadata') as never, toString: () => 'a\r\nb' };
    const baggage = propagation.createBaggage({ tenant: { value: 'a', metadata } });
    await context.with(propagation.setBaggage(ROOT_CONTEXT, baggage), () => outbox.store.enqueue(entry));
    expect(Object.keys(await storedHeaders(outbox))).toEqual(['traceparent']);
  });

  test('is empty if tracing is suppressed, and the row is published unchanged', async () => {
    const outbox = recording();
    await context.with(suppressTracing(ROOT_CONTEXT), async () => {
      await outbox.store.enqueue(entry);
      await outbox.dispatcher.dispatchPending();
    });
    expect(only(outbox.rows).headers).toEqual({});
  });
});

describe('a publish span', () => {
  test('links to the span that enqueued its row', async () => {
    const { store, dispatcher } = recording();
    const producer = await otel.inTrace(() => store.enqueue(entry));
    await dispatcher.dispatchPending();
    const enqueue = otel.span('outbox enqueue').spanContext();
    const publish = otel.span('outbox publish');
    expect(enqueue.traceId).toBe(producer.traceId);
    expect(linksOf(publish)).toEqual([`${enqueue.traceId}/${enqueue.spanId}`]);
    expect(publish.spanContext().traceId).toBe(otel.span('outbox dispatch').spanContext().traceId);
    expect(publish.spanContext().traceId).not.toBe(producer.traceId);
  });

  test('links each row of a batch to its own producer', async () => {
    const { store, dispatcher } = recording();
    const one = await otel.inTrace(() => store.enqueue({ ...entry, id: 'one' }));
    const two = await otel.inTrace(() => store.enqueue({ ...entry, id: 'two' }));
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 2 });
    const linkedTraces = otel
      .spans('outbox publish')
      .map((span) => [span.attributes['outbox.row_id'], only(span.links).context.traceId]);
    expect(one.traceId).not.toBe(two.traceId);
    expect(linkedTraces).toEqual([
      ['one', one.traceId],
      ['two', two.traceId],
    ]);
  });

  test('links every attempt to the producer', async () => {
    const { store, dispatcher } = composeOutbox(() => Promise.reject(new Error('down')));
    const producer = await otel.inTrace(() => store.enqueue(entry));
    await dispatcher.dispatchPending();
    await dispatcher.dispatchPending();
    const traces = otel.spans('outbox publish').map((span) => only(span.links).context.traceId);
    expect(traces).toEqual([producer.traceId, producer.traceId]);
  });

  test('in parent mode is a child of the enqueuing span and links to its dispatch', async () => {
    const { store, dispatcher } = recording({ publishParent: 'parent' });
    const producer = await otel.inTrace(() => store.enqueue(entry));
    await dispatcher.dispatchPending();
    const publish = otel.span('outbox publish');
    const dispatch = otel.span('outbox dispatch').spanContext();
    expect(publish.spanContext().traceId).toBe(producer.traceId);
    expect(publish.parentSpanContext?.spanId).toBe(otel.span('outbox enqueue').spanContext().spanId);
    expect(linksOf(publish)).toEqual([`${dispatch.traceId}/${dispatch.spanId}`]);
  });

  test.each(['link', 'parent'] as const)(
    'is a child of the dispatch if a row has no context (%s)',
    async (publishParent) => {
      const { store, dispatcher } = recording({ publishParent });
      await context.with(suppressTracing(ROOT_CONTEXT), () => store.enqueue(entry));
      await dispatcher.dispatchPending();
      const publish = otel.span('outbox publish');
      expect(publish.parentSpanContext?.spanId).toBe(otel.span('outbox dispatch').spanContext().spanId);
      expect(publish.links).toEqual([]);
    },
  );

  test.each(['traceparent', 'Traceparent'])('links to what the caller passed as %s', async (name) => {
    const { store, dispatcher } = recording();
    await store.enqueue({ ...entry, headers: { [name]: foreignParent } });
    await dispatcher.dispatchPending();
    expect(linksOf(otel.span('outbox publish'))).toEqual([`${foreign.traceId}/${foreign.spanId}`]);
  });

  test('survives invalid headers', async () => {
    const { store, dispatcher } = recording();
    await store.enqueue({
      ...entry,
      headers: { traceparent: '00-zz-1', tracestate: '===', baggage: '%=%,' },
    });
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(otel.span('outbox publish').links).toEqual([]);
  });

  test('is the active one while the publisher runs', async () => {
    const { store, dispatcher, active } = recording();
    await store.enqueue([entry, entry]);
    await dispatcher.dispatchPending();
    expect(active).toEqual(otel.spans('outbox publish').map((span) => span.spanContext().spanId));
  });
});

describe('the row that the publisher receives', () => {
  test.each(['link', 'parent'] as const)(
    'names the publish span in its headers (%s)',
    async (publishParent) => {
      const outbox = recording({ publishParent });
      await outbox.store.enqueue({ ...entry, key: 'k', headers: { tenant: 'a' } });
      const stored = await storedHeaders(outbox);
      await outbox.dispatcher.dispatchPending();
      const row = only(outbox.rows);
      expect(row).toMatchObject({ topic: 'order.paid', key: 'k', payload: {} });
      expect(row.headers).toEqual({
        tenant: 'a',
        traceparent: traceparent(otel.span('outbox publish').spanContext()),
      });
      expect(await storedHeaders(outbox)).toEqual(stored);
    },
  );

  test('has no tracestate of another trace, and no second traceparent', async () => {
    const outbox = recording();
    await outbox.store.enqueue({ ...entry, headers: { TraceParent: foreignParent, tracestate: 'vendor=1' } });
    await outbox.dispatcher.dispatchPending();
    const { headers } = only(outbox.rows);
    expect(headers).toEqual({ traceparent: traceparent(otel.span('outbox publish').spanContext()) });
  });

  test('keeps the tracestate in parent mode, where the trace is the same', async () => {
    const outbox = recording({ publishParent: 'parent' });
    await outbox.store.enqueue({ ...entry, headers: { traceparent: foreignParent, tracestate: 'vendor=1' } });
    await outbox.dispatcher.dispatchPending();
    expect(only(outbox.rows).headers).toMatchObject({
      traceparent: expect.stringContaining(foreign.traceId),
      tracestate: 'vendor=1',
    });
  });

  test.each(['link', 'parent'] as const)(
    'carries the baggage of its producer (%s)',
    async (publishParent) => {
      const seen: unknown[] = [];
      const outbox = composeOutbox(
        async (row) => void seen.push(row.headers.baggage, propagation.getActiveBaggage()?.getAllEntries()),
        {},
        { publishParent },
      );
      const baggage = propagation.createBaggage({ tenant: { value: 'a' } });
      await context.with(propagation.setBaggage(ROOT_CONTEXT, baggage), () => outbox.store.enqueue(entry));
      await outbox.dispatcher.dispatchPending();
      expect(seen).toEqual(['tenant=a', [['tenant', { value: 'a' }]]]);
    },
  );
});

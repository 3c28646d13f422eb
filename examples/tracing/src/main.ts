/** A trace that does not end at the commit: the publish is linked to the request that enqueued. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { trace } from '@opentelemetry/api';
import { createOutbox } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import pg from 'pg';
import { LineExporter } from './line-exporter.js';
import { startTracing } from './start-tracing.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const exporter = new LineExporter();
const provider = startTracing(exporter);
const pool = new pg.Pool({ connectionString: DATABASE_URL });
const published = new EventEmitter();

const outbox = createOutbox({
  store: pgStore(pool),
  // `traceparent` goes out with the message, so that the consumer's trace joins too.
  publisher: async (row) => void published.emit(row.id, row.headers.traceparent),
  modules: [OutboxTelemetryModule],
});
await outbox.migrate();

const [id = ''] = await trace.getTracer('shop').startActiveSpan('POST /orders', async (span) => {
  const ids = await outbox.enqueue({ topic: 'order.placed', payload: { id: 'order-7' } });
  span.end();
  return ids;
});
const forwarded = once(published, id);
await outbox.start();
const signal = await outbox.runUntilSignal({ until: forwarded });
await provider.shutdown();
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

const [traceparent] = await forwarded;
const { spans } = exporter;
const request = spans.find(({ name }) => name === 'POST /orders');
const enqueue = spans.find(({ name }) => name === 'outbox enqueue');
const publish = spans.find(
  (span) => traceparent === `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`,
);
const dispatch = spans.find((span) => span.spanContext().spanId === publish?.parentSpanContext?.spanId);
assert.ok(request && enqueue && dispatch && publish, 'four spans');
assert.equal(enqueue.parentSpanContext?.spanId, request.spanContext().spanId);
assert.equal(publish.name, 'outbox publish');
assert.equal(dispatch.name, 'outbox dispatch');
assert.notEqual(publish.spanContext().traceId, request.spanContext().traceId);
assert.equal(publish.links[0]?.context.spanId, enqueue.spanContext().spanId);
console.log('The publish is linked to the request, and its own span travels with the message.');

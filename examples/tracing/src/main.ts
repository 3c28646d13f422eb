/** A trace that does not end at the commit: the publish is linked to the request that enqueued. */
import assert from 'node:assert/strict';
import { trace } from '@opentelemetry/api';
import { composeModules, OutboxDispatcher, OutboxModule, OutboxSchema, OutboxStore } from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { LineExporter } from './line-exporter.js';
import { startTracing } from './start-tracing.js';

const exporter = new LineExporter();
const provider = startTracing(exporter);
const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
let forwarded: string | undefined;

const app = composeModules([
  OutboxModule.forRoot({
    publisher: async (row) => {
      forwarded = row.headers.traceparent; // goes out with the message, so that the consumer's trace joins too
    },
  }),
  OutboxPgModule.forRoot({ pool }),
  OutboxTelemetryModule,
]);
await app.get(OutboxSchema).ensure();

await trace.getTracer('shop').startActiveSpan('POST /orders', async (span) => {
  await app.get(OutboxStore).enqueue({ topic: 'order.placed', payload: { id: 'order-7' } });
  span.end();
});
await app.get(OutboxDispatcher).dispatchPending();
await provider.shutdown();
await pool.end();
await database.close();

const [request, enqueue, dispatch, publish] = [
  'POST /orders',
  'outbox enqueue',
  'outbox dispatch',
  'outbox publish',
].map((name) => exporter.spans.find((span) => span.name === name));
assert.ok(request && enqueue && dispatch && publish, 'four spans');
assert.equal(enqueue.parentSpanContext?.spanId, request.spanContext().spanId);
assert.equal(publish.parentSpanContext?.spanId, dispatch.spanContext().spanId);
assert.notEqual(publish.spanContext().traceId, request.spanContext().traceId);
assert.equal(publish.links[0]?.context.spanId, enqueue.spanContext().spanId);
const { traceId, spanId } = publish.spanContext();
assert.equal(forwarded, `00-${traceId}-${spanId}-01`);
console.log('The publish is linked to the request, and its own span travels with the message.');

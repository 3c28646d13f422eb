import { composeModules, OutboxDispatcher, OutboxModule } from '@postcommit/core';
import { OutboxDriver } from '@postcommit/core/internal';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { expect, test } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { only, soleValue, useOpenTelemetry } from './use-opentelemetry.js';

const postgres = usePostgres();
const otel = useOpenTelemetry();

test('a trace continues through a transaction and its table, and the gauges come from that table', async () => {
  const app = composeModules(
    [
      OutboxModule.forRoot({ publisher: async () => {} }),
      OutboxPgModule.forRoot({ pool: postgres.pool }),
      OutboxTelemetryModule,
    ],
    { preferences: [{ provide: OutboxDriver, useValue: { name: 'the test' } }] },
  );
  await app.start();
  const client = await postgres.pool.connect();
  const request = await otel.inTrace(async () => {
    await client.query('begin');
    await app.get(PgOutboxStore).enqueueWith(client, { topic: 'order.paid', payload: { id: 7 } });
    await client.query('commit');
  });
  client.release();
  expect(soleValue((await otel.collect()).get('outbox.pending'))).toBe(1);
  expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
  expect(only(otel.span('outbox publish').links).context.traceId).toBe(request.traceId);
  const collected = await otel.collect();
  expect(soleValue(collected.get('outbox.pending'))).toBe(0);
  expect(soleValue(collected.get('outbox.oldest_pending.age_seconds'))).toBe(0);
  expect(soleValue(collected.get('outbox.backlog.failures'))).toBe(0);
  await app.stop();
});

import { composeModules, OutboxDispatcher, OutboxModule } from '@postcommit/core';
import { ScheduledMessagesModule, ScheduleService } from '@postcommit/scheduled-messages';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { expect, it } from 'vitest';
import { prometheusNames } from '../../packages/telemetry/test/prometheus-names.js';
import { only, soleValue, useOpenTelemetry } from '../../packages/telemetry/test/use-opentelemetry.js';

const METRIC = 'app_schedule_job_no_listener_total';
const otel = useOpenTelemetry();

it('schedules without listeners are counted under the name of document 004', async () => {
  const app = composeModules([
    OutboxModule.forRoot({ worker: false }),
    OutboxMemoryModule,
    OutboxTelemetryModule,
    ScheduledMessagesModule.forRoot({ onNoListener: () => {} }),
  ]);
  const dispatcher = app.get(OutboxDispatcher);
  await dispatcher.dispatchPending();
  expect(soleValue((await otel.collect()).get(METRIC))).toBe(0);
  const spec = { topic: 'payments.reminder', runAt: new Date(0), payload: {} };
  await app.get(ScheduleService).scheduleAt(spec);
  await app.get(ScheduleService).scheduleAt(spec);
  expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 2 });
  const metric = (await otel.collect()).get(METRIC);
  expect(soleValue(metric)).toBe(2);
  expect(prometheusNames(only(metric ? [metric] : []))).toEqual([METRIC]);
});

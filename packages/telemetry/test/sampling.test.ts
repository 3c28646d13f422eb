import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { composeOutbox } from './compose-outbox.js';
import { only, useOpenTelemetry } from './use-opentelemetry.js';

const otel = useOpenTelemetry({ sampler: new AlwaysOffSampler() });

test('the decision not to sample travels with the row, and metrics are counted all the same', async () => {
  const sent: (string | undefined)[] = [];
  const { store, dispatcher } = composeOutbox(async ({ headers }) => void sent.push(headers.traceparent));
  await store.enqueue({ topic: 'order.paid', payload: {} });
  expect(only(await store.peek({}, 1)).headers.traceparent).toMatch(/-00$/);
  await dispatcher.dispatchPending();
  expect(sent).toEqual([expect.stringMatching(/-00$/)]);
  expect(otel.spans('outbox publish')).toEqual([]);
  expect((await otel.collect()).get('outbox.dispatched')?.dataPoints).toMatchObject([{ value: 1 }]);
});

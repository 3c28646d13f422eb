import { OutboxDispatcher, OutboxModule, OutboxStore } from '@postcommit/core';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { describe, expect, it } from 'vitest';
import { useOpenTelemetry } from '../../packages/telemetry/test/use-opentelemetry.js';
import { compose } from './line-up.js';

/** `SpanStatusCode` of the OpenTelemetry API. */
const UNSET = 0;
const ERROR = 2;

const otel = useOpenTelemetry();
const paid = { topic: 'order.paid', payload: { id: '7' } };

function composeDocumented(publisher: () => Promise<void>, maxAttempts = Number.POSITIVE_INFINITY) {
  const app = compose([
    OutboxModule.forRoot({ publisher, maxAttempts }),
    OutboxMemoryModule,
    OutboxTelemetryModule,
  ]);
  return { store: app.get(OutboxStore), dispatcher: app.get(OutboxDispatcher) };
}

describe('three spans, with the attributes of the document', () => {
  it('outbox enqueue', async () => {
    const { store } = composeDocumented(async () => {});
    await store.enqueue([paid, paid]);
    await store.enqueue([paid, { ...paid, topic: 'order.sent' }]);
    const [one, several] = otel.spans('outbox enqueue');
    expect(one?.attributes).toMatchObject({ 'outbox.entry_count': 2, 'outbox.topic': 'order.paid' });
    expect(several?.attributes).toMatchObject({
      'outbox.entry_count': 2,
      'outbox.topics': ['order.paid', 'order.sent'],
    });
  });

  it('outbox dispatch', async () => {
    const { store, dispatcher } = composeDocumented(async () => {});
    await store.enqueue([paid, paid]);
    await dispatcher.dispatchPending();
    await dispatcher.dispatchPending(7);
    const [full, empty] = otel.spans('outbox dispatch');
    expect(full?.attributes).toMatchObject({
      'outbox.limit': 50,
      'outbox.fetched': 2,
      'outbox.dispatched': 2,
      'outbox.failed': 0,
      'outbox.dead': 0,
    });
    expect(full?.status.code).toBe(UNSET);
    expect(empty?.attributes).toMatchObject({ 'outbox.limit': 7, 'outbox.fetched': 0 });
  });

  it.each([
    ['failed', Number.POSITIVE_INFINITY, { 'outbox.failed': 1, 'outbox.dead': 0 }],
    ['dead', 1, { 'outbox.failed': 0, 'outbox.dead': 1 }],
  ])('outbox dispatch is an error when a row is %s', async (_state, maxAttempts, attributes) => {
    const { store, dispatcher } = composeDocumented(() => Promise.reject(new Error('down')), maxAttempts);
    await store.enqueue([paid]);
    await dispatcher.dispatchPending();
    const span = otel.span('outbox dispatch');
    expect(span.attributes).toMatchObject(attributes);
    expect(span.status.code).toBe(ERROR);
  });

  it('outbox publish', async () => {
    let fails = 1;
    const { store, dispatcher } = composeDocumented(async () => {
      if (fails-- > 0) throw new Error('down');
    });
    const [id] = await store.enqueue([paid]);
    await dispatcher.dispatchPending();
    await dispatcher.dispatchPending();
    expect(otel.spans('outbox publish').map(({ attributes }) => attributes)).toMatchObject([
      { 'outbox.row_id': id, 'outbox.topic': 'order.paid', 'outbox.attempts': 0 },
      { 'outbox.row_id': id, 'outbox.topic': 'order.paid', 'outbox.attempts': 1 },
    ]);
  });
});

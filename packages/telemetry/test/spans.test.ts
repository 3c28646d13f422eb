import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { OutboxDispatcher, OutboxInterceptors, PermanentError } from '@postcommit/core';
import { describe, expect, test } from 'vitest';
import { composeOutbox } from './compose-outbox.js';
import { only, useOpenTelemetry } from './use-opentelemetry.js';

const otel = useOpenTelemetry();
const published = async (): Promise<void> => {};
const entry = { topic: 'order.paid', payload: { id: 7 } };

describe('the span of an enqueue', () => {
  test('has the number of entries and their topic', async () => {
    const { store } = composeOutbox(published);
    const [id] = await store.enqueue(entry);
    const span = otel.span('outbox enqueue');
    expect(span.kind).toBe(SpanKind.PRODUCER);
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toEqual({
      'outbox.entry_count': 1,
      'outbox.topic': 'order.paid',
      'messaging.system': 'postcommit',
      'messaging.operation.name': 'enqueue',
      'messaging.operation.type': 'create',
      'messaging.destination.name': 'order.paid',
      'messaging.message.id': id,
    });
  });

  test('names the one topic of several entries', async () => {
    await composeOutbox(published).store.enqueue([entry, entry]);
    const { attributes } = otel.span('outbox enqueue');
    expect(attributes).toMatchObject({
      'outbox.entry_count': 2,
      'outbox.topic': 'order.paid',
      'messaging.batch.message_count': 2,
    });
    expect(attributes).not.toHaveProperty('outbox.topics');
    expect(attributes).not.toHaveProperty('messaging.message.id');
  });

  test('names each of several topics once', async () => {
    await composeOutbox(published).store.enqueue([entry, { ...entry, topic: 'order.sent' }, entry]);
    const { attributes } = otel.span('outbox enqueue');
    expect(attributes).toMatchObject({
      'outbox.entry_count': 3,
      'outbox.topics': ['order.paid', 'order.sent'],
    });
    expect(attributes).not.toHaveProperty('outbox.topic');
    expect(attributes).not.toHaveProperty('messaging.destination.name');
  });

  test('wraps enqueueWith too', async () => {
    const { store } = composeOutbox(published);
    await store.transaction((tx) => store.enqueueWith(tx, entry));
    expect(otel.span('outbox enqueue').attributes).toMatchObject({ 'outbox.entry_count': 1 });
  });

  test('belongs to the trace of its caller', async () => {
    const { store } = composeOutbox(published);
    const producer = await otel.inTrace(() => store.enqueue(entry));
    expect(otel.span('outbox enqueue').parentSpanContext?.spanId).toBe(producer.spanId);
  });

  test('is an error if the entry is rejected, and the caller receives the same error', async () => {
    const { store } = composeOutbox(published);
    const refused = store.enqueue({ ...entry, topic: '' });
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_ENTRY' });
    const { status, attributes } = otel.span('outbox enqueue');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'entry 0: topic is empty' });
    expect(attributes['error.type']).toBe('INVALID_ENTRY');
  });

  test.each([{ topic: 7 }, { headers: null }, { headers: 'x' }, { headers: ['x'] }])(
    'leaves it to the core to reject %j',
    async (nonsense) => {
      const refused = composeOutbox(published).store.enqueue({ ...entry, ...nonsense } as never);
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_ENTRY' });
    },
  );
});

describe('the span of a dispatch', () => {
  test('has the results of the batch', async () => {
    const { store, dispatcher } = composeOutbox(published);
    await store.enqueue([entry, entry]);
    await dispatcher.dispatchPending(10);
    const span = otel.span('outbox dispatch');
    expect(span.kind).toBe(SpanKind.INTERNAL);
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toEqual({
      'outbox.limit': 10,
      'outbox.fetched': 2,
      'outbox.dispatched': 2,
      'outbox.failed': 0,
      'outbox.dead': 0,
      'outbox.fenced': 0,
    });
  });

  test.each([
    ['failed', new Error('broker down'), '1 failed, 0 dead'],
    ['dead', new PermanentError('no such exchange'), '0 failed, 1 dead'],
  ])('is an error when a row is %s', async (counted, error, message) => {
    const { store, dispatcher } = composeOutbox(async () => {
      throw error;
    });
    await store.enqueue(entry);
    await dispatcher.dispatchPending();
    const { status, attributes } = otel.span('outbox dispatch');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message });
    expect(attributes[`outbox.${counted}`]).toBe(1);
  });

  test('counts fenced rows, which are not errors of the publisher', async () => {
    const { store, dispatcher } = composeOutbox(async ({ id }) => void (await store.requeue(id)));
    await store.enqueue(entry);
    await dispatcher.dispatchPending();
    const { status, attributes } = otel.span('outbox dispatch');
    expect(attributes).toMatchObject({ 'outbox.fetched': 1, 'outbox.dispatched': 0, 'outbox.fenced': 1 });
    expect(status.code).toBe(SpanStatusCode.UNSET);
  });

  test('records why the store could not be queried, without the password of its address', async () => {
    const { store, dispatcher } = composeOutbox(published);
    store.fetchPending = () => Promise.reject(new Error('no route to postgres://app:hunter2@db/orders'));
    await expect(dispatcher.dispatchPending()).rejects.toThrow('hunter2');
    const { status } = otel.span('outbox dispatch');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'no route to postgres://***@db/orders' });
  });
});

describe('the span of a publish', () => {
  test('names the row, and is a child of the dispatch', async () => {
    const { store, dispatcher } = composeOutbox(published);
    const [id] = await store.enqueue({ ...entry, key: 'customer-1' });
    await dispatcher.dispatchPending();
    const span = otel.span('outbox publish');
    expect(span.kind).toBe(SpanKind.PRODUCER);
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.parentSpanContext?.spanId).toBe(otel.span('outbox dispatch').spanContext().spanId);
    expect(span.attributes).toEqual({
      'outbox.row_id': id,
      'outbox.topic': 'order.paid',
      'outbox.attempts': 0,
      'messaging.system': 'postcommit',
      'messaging.operation.name': 'publish',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'order.paid',
      'messaging.message.id': id,
    });
  });

  test('is recorded once for every attempt', async () => {
    let tries = 0;
    const { store, dispatcher } = composeOutbox(async () => {
      tries += 1;
      if (tries < 3) throw new Error(`try ${tries}`);
    });
    await store.enqueue(entry);
    for (let batch = 0; batch < 3; batch++) await dispatcher.dispatchPending();
    const spans = otel.spans('outbox publish');
    expect(spans.map(({ attributes }) => attributes['outbox.attempts'])).toEqual([0, 1, 2]);
    expect(spans.map(({ status }) => status.message)).toEqual(['try 1', 'try 2', undefined]);
  });

  test('records the message of the error and nothing else of it', async () => {
    const secret = 'card 4111';
    const cause = new Error(`cause with ${secret}`);
    const error = Object.assign(new Error('cannot reach amqp://app:hunter2@mq, token=hunter2', { cause }), {
      code: 'ECONNREFUSED',
      request: { body: secret },
    });
    error.stack = `Error: ${secret}\n    at publish`;
    const { store, dispatcher } = composeOutbox(async () => {
      throw error;
    });
    await store.enqueue({
      topic: 'order.paid',
      payload: { card: secret },
      headers: { authorization: secret },
    });
    await dispatcher.dispatchPending();
    const { status, events, attributes } = otel.span('outbox publish');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'cannot reach amqp://***@mq, token=***' });
    expect(attributes['error.type']).toBe('ECONNREFUSED');
    const exception = only(events);
    expect(exception.name).toBe('exception');
    expect(exception.attributes).toEqual({
      'exception.type': 'ECONNREFUSED',
      'exception.message': 'cannot reach amqp://***@mq, token=***',
    });
    const everything = JSON.stringify([
      ...otel.spans('outbox enqueue').map((span) => span.attributes),
      ...otel.spans('outbox dispatch').map((span) => [span.attributes, span.status]),
      [status, events, attributes],
    ]);
    expect(everything).not.toMatch(/4111|hunter2/);
  });

  test.each([
    ['a string', 'broker down, token=hunter2', { type: '_OTHER', message: 'broker down, token=***' }],
    ['an object', { payload: 'card 4111' }, { type: '_OTHER', message: 'an error without a message' }],
    ['nothing', undefined, { type: '_OTHER', message: 'an error without a message' }],
    [
      'an error with an endless name',
      Object.assign(new Error('x'), { name: 'x'.repeat(99) }),
      { type: '_OTHER', message: 'x' },
    ],
    ['a TypeError', new TypeError('fetch failed'), { type: 'TypeError', message: 'fetch failed' }],
  ])('records what it can if %s is thrown', async (_, thrown, { type, message }) => {
    const { store, dispatcher } = composeOutbox(() => Promise.reject(thrown));
    await store.enqueue(entry);
    await dispatcher.dispatchPending();
    const { status, attributes } = otel.span('outbox publish');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message });
    expect(attributes['error.type']).toBe(type);
  });

  test('survives an error that throws when it is read', async () => {
    const unreadable = new Proxy(new Error('x'), {
      get: () => {
        throw new Error('trap');
      },
    });
    const { app, store } = composeOutbox(published);
    await store.enqueue(entry);
    const row = only(await store.fetchPending(1));
    const interceptor = only(app.get(OutboxInterceptors).items);
    const context = { attempt: 1, signal: new AbortController().signal };
    const thrown = interceptor
      .publish?.(row, context, () => Promise.reject(unreadable))
      .catch((error) => error === unreadable);
    expect(await thrown).toBe(true);
    expect(otel.span('outbox publish').status.message).toBe('an error that could not be read');
  });

  test('ends as an error at the time-out, even if the publisher never ends', async () => {
    const { app, store, clock } = composeOutbox(published);
    const dispatcher = new OutboxDispatcher(store, () => new Promise(() => {}), {
      clock,
      publishTimeoutMs: 1_000,
      interceptors: app.get(OutboxInterceptors),
    });
    await store.enqueue(entry);
    const batch = dispatcher.dispatchPending();
    await clock.advance(1_000);
    expect(await batch).toMatchObject({ failed: 1 });
    const { status, attributes } = otel.span('outbox publish');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'publish took longer than 1000 ms' });
    expect(attributes['error.type']).toBe('TransientError');
  });

  test('a publisher that ends after its time-out changes nothing', async () => {
    const { app, store, clock } = composeOutbox(published);
    let finish = (): void => {};
    const slow = (): Promise<void> =>
      new Promise((resolve) => {
        finish = resolve;
      });
    const interceptors = app.get(OutboxInterceptors);
    const dispatcher = new OutboxDispatcher(store, slow, { clock, publishTimeoutMs: 1_000, interceptors });
    await store.enqueue(entry);
    const batch = dispatcher.dispatchPending();
    await clock.advance(1_000);
    await batch;
    finish();
    await clock.advance(0);
    expect(otel.span('outbox publish').status.code).toBe(SpanStatusCode.ERROR);
    expect((await otel.collect()).get('outbox.publish.duration_seconds')?.dataPoints).toHaveLength(1);
  });
});

test('the configured attributes are on every span', async () => {
  const { store, dispatcher } = composeOutbox(published, {}, { attributes: { 'outbox.name': 'billing' } });
  await store.enqueue(entry);
  await dispatcher.dispatchPending();
  for (const name of ['outbox enqueue', 'outbox dispatch', 'outbox publish'])
    expect(otel.span(name).attributes).toMatchObject({ 'outbox.name': 'billing' });
});

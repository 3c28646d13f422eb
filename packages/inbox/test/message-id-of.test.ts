import type { JsMsg } from '@nats-io/jetstream';
import { headers as natsHeaders } from '@nats-io/transport-node';
import type { ConsumeMessage } from 'amqplib';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { type BrokerMessage, messageIdOf } from '../src/index.js';

const bytes = (text: string): Buffer => Buffer.from(text);

function amqp(properties: object, content = '{}'): ConsumeMessage {
  const fields = { deliveryTag: 1, redelivered: false, exchange: 'orders', routingKey: 'order.paid' };
  return { content: bytes(content), fields, properties } as unknown as ConsumeMessage;
}

function nats(given: Record<string, string> | undefined, data = '{}'): BrokerMessage {
  const headers = given && natsHeaders();
  for (const [name, value] of Object.entries(given ?? {})) headers?.append(name, value);
  return { subject: 'orders.paid', data: new TextEncoder().encode(data), headers };
}

/** Clients have getters on their prototypes. */
class Getters {
  get subject(): string {
    return 'orders.paid';
  }
  get data(): Uint8Array {
    return bytes('{}');
  }
  get headers(): Map<string, string[]> {
    return new Map([['Nats-Msg-Id', ['m-1']]]);
  }
}

const kafka = (headers: unknown, value: unknown = bytes('{}')): BrokerMessage =>
  ({ key: null, value, headers, offset: '7', timestamp: '0' }) as BrokerMessage;
const sqs = (attributes: Record<string, string>, Body = '{}'): BrokerMessage =>
  ({
    MessageId: 'of-sqs',
    Body,
    MessageAttributes: Object.fromEntries(
      Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: 'String', StringValue }]),
    ),
  }) as BrokerMessage;
const event = JSON.stringify({ specversion: '1.0', id: 'm-1', source: '/shop', type: 'order.paid' });
const STRUCTURED = 'application/cloudevents+json; charset=utf-8';

const found: ReadonlyArray<readonly [string, BrokerMessage]> = [
  ['the messageId of AMQP', amqp({ messageId: 'm-1', headers: { 'outbox-id': 'other' } })],
  ['a header of AMQP', amqp({ messageId: undefined, headers: { 'outbox-id': 'm-1' } })],
  ['a header of AMQP, where the id is empty', amqp({ messageId: '', headers: { 'Outbox-Id': 'm-1' } })],
  ['the id of a CloudEvent over AMQP, binary', amqp({ headers: { 'cloudEvents:id': 'm-1' } })],
  ['the id of a CloudEvent over AMQP, structured', amqp({ contentType: STRUCTURED, headers: {} }, event)],
  ['Nats-Msg-Id', nats({ 'Nats-Msg-Id': 'm-1', 'outbox-id': 'other' })],
  ['outbox-id of NATS', nats({ 'outbox-id': 'm-1' })],
  ['the getters of a client', new Getters()],
  ['a record of bytes, as kafkajs has it', kafka({ 'outbox-id': bytes('m-1') })],
  ['a record of lists, as kafkajs has it', kafka({ 'outbox-id': [bytes('m-1'), bytes('other')] })],
  ['a Map of bytes, as @platformatic/kafka has it', kafka(new Map([[bytes('outbox-id'), bytes('m-1')]]))],
  [
    'the first of two headers with the same name',
    kafka(
      new Map([
        [bytes('outbox-id'), bytes('m-1')],
        [bytes('outbox-id'), bytes('other')],
      ]),
    ),
  ],
  ['a Map of strings, as @platformatic/kafka has it', kafka(new Map([['outbox-id', 'm-1']]))],
  ['a list of records, as node-rdkafka has it', kafka([{ a: bytes('x') }, { 'outbox-id': bytes('m-1') }])],
  ['ce_id of Kafka', kafka({ ce_id: bytes('m-1') })],
  ['outbox-id before a ce_id that a row passed on', kafka({ ce_id: 'other', 'outbox-id': 'm-1' })],
  [
    'outbox-id before a webhook-id that a row passed on',
    kafka({ 'webhook-id': 'other', 'outbox-id': 'm-1' }),
  ],
  ['a structured event of Kafka', kafka({ 'content-type': STRUCTURED }, bytes(event))],
  [
    'what eachMessage of kafkajs gets',
    {
      topic: 'orders',
      partition: 0,
      message: { value: bytes('{}'), headers: { 'outbox-id': bytes('m-1') } },
    },
  ],
  ['an attribute of SQS', sqs({ 'outbox-id': 'm-1' })],
  [
    'an attribute of SQS, as AWS Lambda has it',
    {
      messageId: 'x',
      body: '{}',
      messageAttributes: { 'outbox-id': { stringValue: 'm-1', dataType: 'String' } },
    } as BrokerMessage,
  ],
  [
    'an attribute of SNS, inside of a message of SQS',
    sqs(
      {},
      JSON.stringify({
        Type: 'Notification',
        MessageId: 'of-sns',
        Message: '{}',
        MessageAttributes: { 'outbox-id': { Type: 'String', Value: 'm-1' } },
      }),
    ),
  ],
  ['a CloudEvent of SQS, which has no content type', sqs({}, event)],
  [
    'the headers of an entry of a Redis stream',
    { id: '1-0', message: { id: 'of-a-customer', payload: '{}', headers: '{"outbox-id":"m-1"}' } },
  ],
  ['a field of a Redis stream', { id: '1-0', message: { payload: '{}', 'outbox-id': 'm-1' } }],
  ['a field of a Redis stream, as bytes', { id: '1-0', message: { 'outbox-id': bytes('m-1') } }],
  ['a field of a Redis stream, as ioredis has it', ['1-0', ['payload', '{}', 'outbox-id', 'm-1']]],
  [
    'webhook-id, the only one that is signed',
    new Request('http://x', { headers: { 'webhook-id': 'm-1', 'outbox-id': 'forged', 'ce-id': 'forged' } }),
  ],
  ['a header of Node', { headers: { 'outbox-id': 'm-1' } }],
  ['ce-id of HTTP', new Request('http://x', { headers: { 'ce-id': 'm-1' } })],
];

describe('messageIdOf finds', () => {
  it.each(found)('%s', (_, message) => {
    expect(messageIdOf(message)).toBe('m-1');
  });
});

const without: ReadonlyArray<readonly [string, BrokerMessage, string]> = [
  [
    'AMQP',
    amqp({ headers: {}, deliveryTag: 'no-id' }),
    'properties.messageId, outbox-id, the id of a CloudEvent',
  ],
  ['NATS without headers', nats(undefined), 'the header Nats-Msg-Id, outbox-id'],
  ['Kafka', kafka(undefined), 'none in outbox-id, the id'],
  ['SQS, whose own id is another one at every send', sqs({ other: 'x' }), 'none in outbox-id'],
  [
    'Redis, whose own id is another one at every send',
    { id: '1-0', message: { payload: '{}' } },
    'outbox-id',
  ],
  [
    'Redis, where a field id is that of something',
    { id: '1-0', message: { id: '7', headers: 'x' } },
    'outbox-id',
  ],
  ['a request', new Request('http://x'), 'the header webhook-id, outbox-id'],
  ['AMQP, where a JSON body merely has an id', amqp({ contentType: 'application/json' }, event), 'no id'],
];

describe('messageIdOf says where it has looked, and quotes nothing', () => {
  it.each(without)('for %s', (_, message, places) => {
    const error = expect.objectContaining({ name: 'OutboxError', code: 'INVALID_MESSAGE' });
    expect(() => messageIdOf(message)).toThrow(error);
    expect(() => messageIdOf(message)).toThrow(places);
  });

  it.each([undefined, null, 'text', 7, {}, { payload: 1 }, bytes('{}')])(
    'for what is no message: %j',
    (message) => {
      expect(() => messageIdOf(message as never)).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('pass the whole message'),
        }),
      );
    },
  );
});

describe('the types of messages', () => {
  it('fit those of amqplib, of NATS and of fetch', () => {
    expectTypeOf<ConsumeMessage>().toExtend<BrokerMessage>();
    expectTypeOf<JsMsg>().toExtend<BrokerMessage>();
    expectTypeOf<Request>().toExtend<BrokerMessage>();
    expectTypeOf<import('node:http').IncomingMessage>().toExtend<BrokerMessage>();
    expectTypeOf(messageIdOf).returns.toEqualTypeOf<string>();
  });

  it('refuse a body, and a message that may be null', () => {
    expectTypeOf<Buffer>().not.toExtend<BrokerMessage>();
    expectTypeOf<string>().not.toExtend<BrokerMessage>();
    expectTypeOf<ConsumeMessage | null>().not.toExtend<BrokerMessage>();
  });
});

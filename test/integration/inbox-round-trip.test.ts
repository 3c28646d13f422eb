import type { OutboxRow } from '@postcommit/core';
import { cloudEventOf, messageIdOf } from '@postcommit/inbox';
import { expect, it } from 'vitest';
import { prepareRow } from '../../packages/publisher-kafka/src/kafka-record.js';
import { toMessage } from '../../packages/publisher-nats/src/nats-message.js';
import { messageOf } from '../../packages/publisher-rabbitmq/src/message.js';

const createdAt = new Date('2026-03-29T01:02:03.456Z');
const row: OutboxRow = {
  id: 'row-1',
  topic: 'orders.paid',
  key: 'Zoë',
  payload: { amount: 12 },
  // Passed on from a webhook and an event that had led to this row.
  headers: { 'webhook-id': 'of another', ce_id: 'of another', 'outbox-id': 'of another' },
  createdAt,
  availableAt: createdAt,
  attempts: 0,
  retakes: 0,
  retry: {},
};

type Format = { readonly cloudEvents?: { readonly source: string } };

const transports = [
  {
    name: 'RabbitMQ',
    send: async (format: Format) => {
      const { body, properties } = await messageOf(row, { ...format, routingKey: ({ topic }) => topic });
      return { content: body, fields: { routingKey: 'orders.paid' }, properties };
    },
  },
  {
    name: 'NATS',
    send: async (format: Format) => {
      const { subject, body, headers } = await toMessage(row, format);
      return { subject, data: body, headers };
    },
  },
  {
    name: 'Kafka',
    send: async (format: Format) => {
      const { value, headers } = await prepareRow(row, 0, { ...format, topic: ({ topic }) => topic });
      return { value, headers };
    },
  },
];

it.each(transports)('the inbox finds the id that the publisher for $name has sent', async ({ send }) => {
  expect(messageIdOf(await send({}))).toBe('row-1');
  expect(messageIdOf(await send({ cloudEvents: { source: '/shop' } }))).toBe('row-1');
});

it.each(transports)('the inbox reads the CloudEvents of the publisher for $name', async ({ send }) => {
  expect(cloudEventOf(await send({ cloudEvents: { source: '/shop' } }))).toEqual({
    specversion: '1.0',
    id: 'row-1',
    source: '/shop',
    type: 'orders.paid',
    subject: 'Zoë',
    time: '2026-03-29T01:02:03.456Z',
    datacontenttype: 'application/json',
    extensions: { partitionkey: 'Zoë' },
    data: { amount: 12 },
  });
});

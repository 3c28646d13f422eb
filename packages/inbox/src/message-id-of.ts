import { MESSAGE_HEADERS } from '@postcommit/core/internal';
import type { BrokerMessage } from './broker-message.js';
import { ID_ATTRIBUTES, structuredDocument } from './cloud-event-mode.js';
import { invalidMessage } from './invalid-message.js';
import { type ReadMessage, readMessage } from './read-message.js';

/**
 * Returns the id of a message: the same at every delivery, and the row's id if Postcommit has sent it. Looks where the
 * protocol has it (`properties.messageId` of AMQP, `Nats-Msg-Id`, `webhook-id`), then in the header, attribute or field
 * `outbox-id`, then for the id of a CloudEvent. Ids that a broker gives to messages are never taken: they differ when a
 * message is sent twice.
 *
 * @throws `INVALID_MESSAGE` if the message has no id, `INVALID_ARGUMENT` for what is no message of a known client.
 *
 * @example
 * const id = messageIdOf(message); // of amqplib, NATS, Kafka, SQS, Redis streams, or a request
 */
export function messageIdOf(message: BrokerMessage): string {
  const read = readMessage('messageIdOf', message);
  const id = idsOf(read).find((each): each is string => typeof each === 'string' && each !== '');
  if (id !== undefined) return id;
  const places = [...(read.native ? [read.native.place] : []), MESSAGE_HEADERS.id, 'the id of a CloudEvent'];
  throw invalidMessage(`the message has no id: there is none in ${places.join(', ')}`);
}

function idsOf(read: ReadMessage): unknown[] {
  const { native, headers } = read;
  const ids = [native?.id, ...[MESSAGE_HEADERS.id, ...ID_ATTRIBUTES].map((name) => headers.get(name))];
  return [...ids, structuredDocument(read)?.id];
}

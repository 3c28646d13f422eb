import type { OutboxPublisher, OutboxRow } from '@postcommit/core';
import {
  openLink,
  type PublisherFixture,
  type PublisherHarness,
  type ReceivedMessage,
} from '@postcommit/publisher-testkit';
import { type WebhookOptions, webhookPublisher } from '../src/index.js';
import { type RecordedRequest, RecordingServer } from './recording-server.js';

/** The base64 of 24 bytes. */
const SECRET = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtMjQh';
const TOKEN = 't0k3n-of-the-receiver';
const TOPIC = 'order.paid';
const REFUSING = 'refused.one.by.one';

/** Over `fetch`, or with the address guard, which has a transport of its own. */
export function webhookHarness(
  allowPrivateAddresses: WebhookOptions['allowPrivateAddresses'],
): PublisherHarness {
  return {
    traits: { dedupes: false, ordersByKey: true, keepsHeaderCase: false },
    open: () => openFixture(allowPrivateAddresses),
  };
}

async function openFixture(
  allowPrivateAddresses: WebhookOptions['allowPrivateAddresses'],
): Promise<PublisherFixture> {
  const server = await RecordingServer.open();
  const accepted: ReceivedMessage[] = [];
  server.answer = (response, request) => {
    const status = statusOf(request);
    if (status === 204) accepted.push(messageOf(request));
    response.writeHead(status).end();
  };
  const link = await openLink({ host: '127.0.0.1', port: server.port });
  const publishers: OutboxPublisher[] = [];
  const create = (options: Partial<WebhookOptions> = {}): OutboxPublisher => {
    const publisher = webhookPublisher({
      url: ({ topic }) => `http://127.0.0.1:${link.port}/${encodeURIComponent(topic)}`,
      secret: `whsec_${SECRET}`,
      headers: { authorization: `Bearer ${TOKEN}` },
      timeoutMs: 1_500,
      allowPrivateAddresses,
      ...options,
    });
    publishers.push(publisher);
    return publisher;
  };
  return {
    createPublisher: create,
    received: async () => accepted,
    topic: TOPIC,
    link,
    unroutableTopic: 'nobody.listens',
    refusingTopic: REFUSING,
    impossibleRows,
    secrets: [SECRET, TOKEN],
    withWrongCredentials: () => create({ headers: { authorization: 'Bearer wrong-token' } }),
    close: async () => {
      await Promise.all(publishers.map((publisher) => publisher.stop?.({ graceMs: 0 })));
      await link.close();
      await server.close();
    },
  };
}

function statusOf({ path, headers }: RecordedRequest): number {
  if (headers.authorization !== `Bearer ${TOKEN}`) return 401;
  if (path === `/${REFUSING}`) return 422;
  return path === `/${TOPIC}` ? 204 : 404;
}

function messageOf({ path, headers, body }: RecordedRequest): ReceivedMessage {
  const key = headers['outbox-key'];
  return {
    id: headers['webhook-id'] ?? '',
    nativeId: headers['webhook-id'],
    destination: decodeURIComponent(path.slice(1)),
    key: key === undefined ? undefined : decodeURIComponent(key),
    body,
    contentType: headers['content-type'],
    headers,
  };
}

function impossibleRows(template: OutboxRow): Record<string, OutboxRow> {
  const withHeaders = (headers: Record<string, string>): OutboxRow => ({ ...template, headers });
  return {
    'a header name with a space': withHeaders({ 'not a name': 'x' }),
    'a header that is not ASCII': withHeaders({ city: 'Zürich' }),
    'a header with spaces at its ends': withHeaders({ note: ' x ' }),
    'a header of the connection': withHeaders({ Host: 'elsewhere.example' }),
    'two headers that differ in case': withHeaders({ 'X-Note': '1', 'x-note': '2' }),
  };
}

// fake-queue.ts
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { QueueMessage } from './queue-publisher.js';

/** A queue with the topics `orders`, which takes messages, and `full`, which does not. */
export async function openQueue(token: string) {
  const stored: QueueMessage[] = [];
  const answerTo = (message: QueueMessage): string => {
    if (message.topic !== 'orders') return message.topic === 'full' ? 'full' : 'no such topic';
    stored.push(message);
    return 'stored';
  };
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
    const messages = (await json(request)) as QueueMessage[];
    return response.end(JSON.stringify(messages.map(answerTo)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    get messages() {
      return stored.map(({ body, ...message }) => ({ ...message, body: Buffer.from(body) }));
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { webhookPublisher } from '@postcommit/publisher-webhook';
import { atEnd } from '../at-end.js';
import type { BenchBroker, BenchMessage } from './broker.js';

const CONCURRENCY = 50;
const SECRET = `whsec_${Buffer.alloc(32, 'bench').toString('base64')}`;

let address: string | undefined;

export const webhook: BenchBroker = {
  id: 'webhook',
  name: 'a webhook',
  settings: `a server of Node on this machine that answers 204 at once; ${CONCURRENCY} requests at a time`,
  concurrency: CONCURRENCY,
  absent: async () => undefined,
  create: async () => {
    address ??= await serve();
    process.env.BENCH_WEBHOOK = address;
  },
  // The server ends with the process.
  remove: async () => {},
  open: async () => {
    const url = process.env.BENCH_WEBHOOK ?? '';
    const send = async ({ id, body }: BenchMessage): Promise<void> => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'webhook-id': id },
        body,
        redirect: 'manual',
      });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`answered ${response.status}`);
    };
    return {
      publisher: webhookPublisher({ url, secret: SECRET }),
      send,
      sendAll: async (messages) => {
        const waiting = [...messages];
        const sendNext = async (): Promise<void> => {
          for (let next = waiting.pop(); next; next = waiting.pop()) await send(next);
        };
        await Promise.all(Array.from({ length: CONCURRENCY }, sendNext));
      },
      close: async () => {},
    };
  },
};

async function serve(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(204).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

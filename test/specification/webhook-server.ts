import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach } from 'vitest';

/** What an HTTP endpoint received, and what it answers. */
export interface WebhookServer {
  readonly url: string;
  /** Method, content type and parsed body of every request, in order. */
  readonly received: { method: string | undefined; contentType: string | undefined; body: unknown }[];
  status: number;
}

/** A real HTTP server for the tests of a file; each test finds it empty and content. */
export function useWebhookServer(): WebhookServer {
  let server: Server;
  const webhook = { url: '', received: [] as WebhookServer['received'], status: 200 };
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const body: unknown = JSON.parse(await text(request));
      webhook.received.push({ method: request.method, contentType: request.headers['content-type'], body });
      response.writeHead(webhook.status).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    webhook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  });
  beforeEach(() => {
    webhook.received.length = 0;
    webhook.status = 200;
  });
  afterAll(async () => {
    // A keep-alive connection of fetch would hold up the close.
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return webhook;
}

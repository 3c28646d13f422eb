import { once } from 'node:events';
import { connect, createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { webhookReceiver } from '../src/index.js';
import { OLD, signedHeaders } from './signed-webhooks.js';

const receive = webhookReceiver({ secret: OLD, maxBodyBytes: 100 });
let server: Http2Server;
let url: string;

beforeEach(async () => {
  server = createServer(async (request, response) => {
    const answer = await receive(request, async () => true);
    await setImmediate(); // others do more before they answer
    response.writeHead(answer.status).end(answer.body ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => new Promise((resolve) => server.close(resolve)));

async function send(body: string, isWhole: boolean): Promise<unknown> {
  const session = connect(url);
  try {
    const stream = session.request({ ':method': 'POST', ...signedHeaders({ body }) });
    stream.on('error', () => {});
    const answered = once(stream, 'response');
    stream.write(body);
    if (isWhole) stream.end();
    const [headers] = await answered;
    return headers[':status'];
  } finally {
    session.destroy();
  }
}

it('receives over HTTP/2', async () => {
  expect(await send('{}', true)).toBe(204);
});

it('answers what is too large while it is still being sent', async () => {
  expect(await send('x'.repeat(1_000), false)).toBe(413);
});

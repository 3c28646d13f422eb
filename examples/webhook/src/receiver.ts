import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isSignedBy } from './signature.js';

export interface Receiver {
  readonly url: string;
  /** Topic and status of every request, in order. */
  readonly answers: readonly string[];
  /** What was accepted, by idempotency key: a repeated message changes nothing. */
  readonly accepted: ReadonlyMap<string, unknown>;
  close(): Promise<void>;
}

/** The other side, as a partner would run it. It is busy when the first good request comes. */
export async function startReceiver(secret: string): Promise<Receiver> {
  const answers: string[] = [];
  const accepted = new Map<string, unknown>();
  let isBusy = true;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const isGenuine = isSignedBy(secret, body, String(request.headers['x-signature']));
    const message = JSON.parse(body) as { id: string; topic: string; payload: unknown };
    const status = !isGenuine ? 401 : isBusy ? 503 : 204;
    if (status === 503) response.setHeader('retry-after', '1');
    if (status === 204) accepted.set(message.id, message.payload);
    if (isGenuine) isBusy = false;
    console.log(`POST ${message.topic} ${status}`);
    answers.push(`${message.topic} ${status}`);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    // A keep-alive connection of fetch would hold up the close.
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, answers, accepted, close };
}

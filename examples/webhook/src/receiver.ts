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

interface Message {
  readonly id: string;
  readonly topic: string;
  readonly payload: { readonly amount: number };
}

/**
 * The other side, as a partner would run it. A bad deploy redirects the first good request to a login page, and the
 * second one comes too early.
 */
export async function startReceiver(secret: string): Promise<Receiver> {
  const answers: string[] = [];
  const accepted = new Map<string, unknown>();
  const troubles = [302, 503];
  const server = createServer(async (request, response) => {
    if (request.url === '/login') {
      answers.push(`${request.method} /login 200`);
      response.end('Please log in');
      return;
    }
    const body = await text(request);
    const isGenuine = isSignedBy(secret, body, String(request.headers['x-signature']));
    const message = JSON.parse(body) as Message;
    const status = statusFor(message, isGenuine, troubles);
    if (status === 302) response.setHeader('location', '/login');
    if (status === 503) response.setHeader('retry-after', '1');
    if (status === 204) accepted.set(message.id, message.payload);
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

function statusFor({ payload }: Message, isGenuine: boolean, troubles: number[]): number {
  if (!isGenuine) return 401;
  if (payload.amount < 0) return 422;
  return troubles.shift() ?? 204;
}

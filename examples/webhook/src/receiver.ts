import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isSignedBy } from './signature.js';

export interface Receiver {
  readonly url: string;
  /** The status of every request with this message, in order. */
  answersTo(id: string): readonly number[];
  /** What was accepted, by idempotency key: a repeated message changes nothing. */
  readonly accepted: ReadonlyMap<string, unknown>;
  /** Resolves when the message is accepted. */
  accepts(id: string): Promise<unknown>;
  close(): Promise<void>;
}

interface Message {
  readonly id: string;
  readonly topic: string;
  readonly payload: { readonly amount: number };
}

/**
 * The other side, as a partner would run it. A bad deploy redirects the first request of a message to a login page, and
 * the second one comes too early.
 */
export async function startReceiver(secret: string): Promise<Receiver> {
  const answers = new Map<string, number[]>();
  const answersTo = (id: string): readonly number[] => answers.get(id) ?? [];
  const accepted = new Map<string, unknown>();
  const events = new EventEmitter();
  const server = createServer(async (request, response) => {
    if (request.url === '/login') {
      console.log(`${request.method} /login: a redirect was followed`);
      response.end('Please log in');
      return;
    }
    const body = await text(request);
    const isGenuine = isSignedBy(secret, body, String(request.headers['x-signature']));
    const message = JSON.parse(body) as Message;
    const status = statusFor(message, isGenuine, answersTo(message.id).length);
    if (status === 302) response.setHeader('location', '/login');
    if (status === 503) response.setHeader('retry-after', '1');
    if (status === 204) accepted.set(message.id, message.payload);
    console.log(`POST ${message.topic} ${status}`);
    answers.set(message.id, [...answersTo(message.id), status]);
    response.writeHead(status).end();
    if (status === 204) events.emit(message.id);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    // A keep-alive connection of fetch would hold up the close.
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, answersTo, accepted, accepts: (id) => once(events, id), close };
}

function statusFor({ payload }: Message, isGenuine: boolean, requestsBefore: number): number {
  if (!isGenuine) return 401;
  if (payload.amount < 0) return 422;
  return [302, 503][requestsBefore] ?? 204;
}

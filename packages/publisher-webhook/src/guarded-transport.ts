import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AddressGuard } from './address-guard.js';
import type { Transport, WebhookRequest, WebhookResponse } from './transport.js';

/** How long a connection is kept for the next row. */
const IDLE_MS = 15_000;

/**
 * Connects only to addresses that the guard permits. `fetch` can't be told to which address to connect, so this uses
 * `node:http`. Neither follows redirects nor uses proxies.
 */
export class GuardedTransport implements Transport {
  readonly #guard: AddressGuard;
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS });
  readonly #https = new HttpsAgent({ keepAlive: true, timeout: IDLE_MS });

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  async send({ url, headers, body }: WebhookRequest, signal: AbortSignal): Promise<WebhookResponse> {
    this.#guard.assertPermits(url);
    const isSecure = url.protocol === 'https:';
    const request = (isSecure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.byteLength },
      agent: isSecure ? this.#https : this.#http,
      lookup: this.#guard.lookup,
      signal,
    });
    return new Promise((resolve, reject) => {
      request.on('response', (response) => resolve(responseOf(response)));
      // Stays: the connection may also break after the response has begun.
      request.on('error', reject);
      request.end(body);
    });
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

function responseOf(message: IncomingMessage): WebhookResponse {
  return {
    status: message.statusCode ?? 0,
    headers: { get: (name) => message.headersDistinct[name]?.join(', ') ?? null },
    body: message,
  };
}

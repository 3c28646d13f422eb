import { errorFromResponse, OutboxPublisher, type OutboxRow, type PublishContext } from '@postcommit/core';
import { sign } from './signature.js';

/** What the receiver may put right is tried again, not sooner than Retry-After says; a 422, for example, is final. */
export class WebhookPublisher extends OutboxPublisher {
  readonly #url: string;
  readonly #secret: string;

  constructor(url: string, secret: string) {
    super();
    this.#url = url;
    this.#secret = secret;
  }

  async publish({ id, topic, payload }: OutboxRow, { signal }: PublishContext): Promise<void> {
    const body = JSON.stringify({ id, topic, payload });
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': id,
      'x-signature': sign(this.#secret, body),
    };
    const response = await fetch(this.#url, { method: 'POST', headers, body, redirect: 'manual', signal });
    if (!response.ok) throw await errorFromResponse(response);
    await response.body?.cancel();
  }
}

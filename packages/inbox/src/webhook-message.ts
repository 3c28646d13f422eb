import { invalidMessage } from './invalid-message.js';

interface WebhookFields {
  readonly id: string;
  readonly timestamp: Date;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A webhook whose signature was checked. */
export class WebhookMessage implements WebhookFields {
  /** `webhook-id`: the same at every try, and signed. */
  readonly id: string;
  /** When it was sent, this time. */
  readonly timestamp: Date;
  /** By their names in lower case. They are not signed, except for the id and the time: do not trust them. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it arrived. */
  readonly body: Uint8Array;

  constructor({ id, timestamp, headers, body }: WebhookFields) {
    this.id = id;
    this.timestamp = timestamp;
    this.headers = headers;
    this.body = body;
  }

  /** Parses the body. @throws `INVALID_MESSAGE` if it is not JSON. */
  json(): unknown {
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(this.body));
    } catch {
      throw invalidMessage('the body of the webhook is not JSON');
    }
  }
}

/** One POST. */
export interface WebhookRequest {
  readonly url: URL;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The answer to it. Leaving the iteration over the body early frees the connection. */
export interface WebhookResponse {
  readonly status: number;
  readonly type?: string;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Sends requests, and never follows a redirect. */
export interface Transport {
  /** Rejects if there is no answer, and when the signal aborts. */
  send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookResponse>;
  /** Closes what is idle. The next `send` opens it again. */
  close(): void;
}

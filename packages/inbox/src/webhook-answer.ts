/** What to answer to a webhook. Fits as the second argument of `new Response`. */
export interface WebhookAnswer {
  /** 204 if the handler ran, 200 if the message was known. Everything else refuses it. */
  readonly status: 200 | 204 | 400 | 401 | 408 | 413 | 422 | 503;
  readonly headers: Readonly<Record<string, string>>;
  /** The reason, for people; null if there is none. */
  readonly body: string | null;
  /** What the handler threw: log it. The sender does not see it. */
  readonly error?: unknown;
}

/** Closes the connection where the rest of a body may still be on its way. */
export function refusal(status: Exclude<WebhookAnswer['status'], 200 | 204>, reason: string): WebhookAnswer {
  const isUnread = status === 401 || status === 408 || status === 413;
  const connection = isUnread ? { connection: 'close' } : {};
  const headers = { 'content-type': 'text/plain; charset=utf-8', ...connection };
  return { status, headers, body: `The webhook was refused: ${reason}.\n` };
}

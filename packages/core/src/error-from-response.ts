import { OutboxError, PermanentError, TransientError } from './errors.js';

/** What we read of an HTTP answer; the `Response` of `fetch` fits. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** A 429 without a usable Retry-After header. */
const DEFAULT_RETRY_AFTER_MS = 60_000;
const BODY_EXCERPT_LENGTH = 1_000;

/**
 * The error to throw for an HTTP answer that is not 2xx: 429 and 5xx are transient, all others permanent.
 * A Retry-After header, in seconds or as a date, becomes the least wait.
 *
 * @example
 * const response = await fetch(url, { method: 'POST', body, signal: context.signal });
 * if (!response.ok) throw await errorFromResponse(response);
 */
export async function errorFromResponse(response: HttpResponse): Promise<PermanentError | TransientError> {
  const { status } = response;
  if (status >= 200 && status < 300) {
    throw new OutboxError(
      'INVALID_ARGUMENT',
      `errorFromResponse: ${status} is a success; check response.ok first`,
    );
  }
  if (status === 429)
    return new TransientError('Rate limited', retryAfterMs(response) ?? DEFAULT_RETRY_AFTER_MS);
  if (status >= 500) return new TransientError(`Server error: ${status}`, retryAfterMs(response));
  if (status === 400) return new PermanentError(`Bad request: ${await bodyExcerpt(response)}`);
  return new PermanentError(`Unexpected status: ${status}`);
}

function retryAfterMs(response: HttpResponse): number | undefined {
  const header = response.headers.get('retry-after')?.trim();
  if (!header) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  // Only what looks like an HTTP date: Date.parse makes a date of '-5' and of '1.5' too.
  const date = /^[A-Z][a-z]+, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

async function bodyExcerpt(response: HttpResponse): Promise<string> {
  // The body only explains; an answer that breaks off must not turn a permanent error into a transient one.
  const text = await response.text().catch(() => '(the body could not be read)');
  return text.slice(0, BODY_EXCERPT_LENGTH);
}

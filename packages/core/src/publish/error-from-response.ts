import { OutboxError, PermanentError, TransientError } from '../message/errors.js';
import { maskSecrets } from '../message/mask-secrets.js';

/** What we read of an HTTP answer; the `Response` of `fetch` fits. */
export interface HttpResponse {
  readonly status: number;
  /** `opaqueredirect` where the runtime hides a redirect behind the status 0. */
  readonly type?: string;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** A 429 without a usable Retry-After header. */
const DEFAULT_RETRY_AFTER_MS = 60_000;
const EXCERPT_LENGTH = 1_000;

/** Wrong credentials, a wrong address or a receiver that is not ready: its next deploy may put it right. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 405, 407, 408, 425]);

/**
 * Returns the error to throw for an HTTP response that is not 2xx. Redirects, 401, 403, 404, 405, 407, 408, 425, 429
 * and 5xx are transient; 400, 410, 413, 415, 422 and all others are permanent. A Retry-After header of a transient one,
 * in seconds or as a date, becomes the shortest wait.
 *
 * Call `fetch` with `redirect: 'manual'`: a redirect that it follows turns the POST into a GET without a body, and the
 * 200 of that page would count as delivered.
 *
 * @example
 * const response = await fetch(url, { method: 'POST', body, redirect: 'manual', signal: context.signal });
 * if (!response.ok) throw await errorFromResponse(response);
 *
 * @throws `INVALID_ARGUMENT` for a 2xx.
 */
export async function errorFromResponse(response: HttpResponse): Promise<PermanentError | TransientError> {
  const { status } = response;
  if (status >= 200 && status < 300) {
    throw new OutboxError(
      'INVALID_ARGUMENT',
      `errorFromResponse: ${status} is a success; check response.ok first`,
    );
  }
  if (isRedirect(response)) return new TransientError(redirectText(response), retryAfterMs(response));
  if (status === 429)
    return new TransientError('Rate limited', retryAfterMs(response) ?? DEFAULT_RETRY_AFTER_MS);
  if (status >= 500) return new TransientError(`Server error: ${status}`, retryAfterMs(response));
  if (TRANSIENT_STATUSES.has(status))
    return new TransientError(`Unexpected status: ${status}`, retryAfterMs(response));
  if (status === 400) return new PermanentError(`Bad request: ${await bodyExcerpt(response)}`);
  return new PermanentError(`Unexpected status: ${status}`);
}

function isRedirect({ status, type }: HttpResponse): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400);
}

function redirectText({ status, headers }: HttpResponse): string {
  const location = headers.get('location');
  const target = location ? `to ${maskSecrets(location).slice(0, EXCERPT_LENGTH)}` : 'without a location';
  const found = status === 0 ? 'hidden by the runtime' : `${status} ${target}`;
  return `Unexpected redirect: ${found}; it was not followed, since a redirected POST may arrive without its body`;
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
  return text.slice(0, EXCERPT_LENGTH);
}

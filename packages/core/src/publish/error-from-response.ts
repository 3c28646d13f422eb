import { OutboxError, PermanentError, UnavailableError } from '../message/errors.js';
import { maskSecrets } from '../message/mask-secrets.js';

/** The part of an HTTP response that is read. The `Response` of `fetch` fits. */
export interface HttpResponse {
  readonly status: number;
  /** `opaqueredirect` if the runtime hides a redirect behind status 0. */
  readonly type?: string;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** For a 429 without a usable Retry-After header. */
const DEFAULT_RETRY_AFTER_MS = 60_000;
/** A receiver can't make a row wait for longer: a wrong header would hold it back for years. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;
const EXCERPT_LENGTH = 1_000;

/** Wrong credentials, a wrong address or a receiver that is not ready: the next deployment may fix it. */
const UNAVAILABLE_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 405, 407, 408, 425]);

/**
 * Returns the error to throw for an HTTP response that is not 2xx. Redirects, 401, 403, 404, 405, 407, 408, 425, 429
 * and 5xx say that the receiver is unavailable, which costs no attempts; 400, 410, 413, 415, 422 and all others are
 * permanent. For an unavailable receiver, a Retry-After header, in seconds or as a date, sets the shortest delay, of at
 * most an hour.
 *
 * Call `fetch` with `redirect: 'manual'`. Otherwise it may follow a redirect with a GET without the body, and the 200
 * of that page would count as delivered.
 *
 * @example
 * const response = await fetch(url, { method: 'POST', body, redirect: 'manual', signal: context.signal });
 * if (!response.ok) throw await errorFromResponse(response);
 *
 * @throws `INVALID_ARGUMENT` for a 2xx.
 */
export async function errorFromResponse(response: HttpResponse): Promise<PermanentError | UnavailableError> {
  const { status } = response;
  if (status >= 200 && status < 300) {
    throw new OutboxError(
      'INVALID_ARGUMENT',
      `errorFromResponse: ${status} is a success; check response.ok first`,
    );
  }
  const problem = problemOfReceiver(response);
  if (problem !== undefined) return new UnavailableError(problem, waitOf(response));
  if (status === 400) return new PermanentError(`Bad request: ${await bodyExcerpt(response)}`);
  return new PermanentError(`Unexpected status: ${status}`);
}

/** Undefined if the response is about the message. */
function problemOfReceiver(response: HttpResponse): string | undefined {
  const { status } = response;
  if (isRedirect(response)) return redirectText(response);
  if (status === 429) return 'Rate limited';
  if (status >= 500) return `Server error: ${status}`;
  return UNAVAILABLE_STATUSES.has(status) ? `Unexpected status: ${status}` : undefined;
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

function waitOf(response: HttpResponse): { retryAfterMs?: number } {
  const usual = response.status === 429 ? DEFAULT_RETRY_AFTER_MS : undefined;
  const waitMs = retryAfterMs(response) ?? usual;
  return waitMs === undefined ? {} : { retryAfterMs: Math.min(waitMs, LONGEST_RETRY_AFTER_MS) };
}

function retryAfterMs(response: HttpResponse): number | undefined {
  const header = response.headers.get('retry-after')?.trim();
  if (!header) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  // Only what looks like an HTTP date: Date.parse also accepts '-5' and '1.5'.
  const date = /^[A-Z][a-z]+, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

async function bodyExcerpt(response: HttpResponse): Promise<string> {
  // The body only explains the error. If it can't be read, the error must stay permanent.
  const text = await response.text().catch(() => '(the body could not be read)');
  return text.slice(0, EXCERPT_LENGTH);
}

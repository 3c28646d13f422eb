import { PermanentError, TransientError } from './errors.js';
/** What we read of an HTTP answer; the `Response` of `fetch` fits. */
export interface HttpResponse {
    readonly status: number;
    readonly headers: {
        get(name: string): string | null;
    };
    text(): Promise<string>;
}
/**
 * The error to throw for an HTTP answer that is not 2xx: 429 and 5xx are transient, all others permanent.
 * A Retry-After header, in seconds or as a date, becomes the least wait.
 *
 * @example
 * const response = await fetch(url, { method: 'POST', body, signal: context.signal });
 * if (!response.ok) throw await errorFromResponse(response);
 */
export declare function errorFromResponse(response: HttpResponse): Promise<PermanentError | TransientError>;

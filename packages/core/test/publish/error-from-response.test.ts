import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PermanentError, TransientError, UnavailableError } from '../../src/message/errors.js';
import { errorFromResponse, type HttpResponse } from '../../src/publish/error-from-response.js';
import { refusal } from '../outbox-fixture.js';

function response(status: number, retryAfter?: string, body = 'the body'): Response {
  return new Response(body, {
    status,
    ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
  });
}

async function retryAfterMs(status: number, retryAfter?: string): Promise<number | undefined> {
  const error = await errorFromResponse(response(status, retryAfter));
  expect(error).toBeInstanceOf(UnavailableError);
  return error instanceof UnavailableError ? error.retryAfterMs : undefined;
}

describe('errorFromResponse', () => {
  beforeEach(() => void vi.useFakeTimers({ now: new Date('2026-01-01T00:00:00Z') }));
  afterEach(() => void vi.useRealTimers());

  test('400 is permanent and quotes the body', async () => {
    const error = await errorFromResponse(response(400, undefined, 'amount is missing'));
    expect(error).toBeInstanceOf(PermanentError);
    expect(error.message).toBe('Bad request: amount is missing');
  });

  test('a long body is cut', async () => {
    const error = await errorFromResponse(response(400, undefined, 'x'.repeat(5_000)));
    expect(error.message).toBe(`Bad request: ${'x'.repeat(1_000)}`);
  });

  test('a truncated body keeps the error permanent', async () => {
    const broken: HttpResponse = {
      status: 400,
      headers: new Headers(),
      text: () => Promise.reject(new Error('socket hang up')),
    };
    const error = await errorFromResponse(broken);
    expect(error).toBeInstanceOf(PermanentError);
    expect(error.message).toBe('Bad request: (the body could not be read)');
  });

  test.each([402, 406, 409, 410, 411, 413, 414, 415, 417, 422, 451, 499])(
    '%i is permanent',
    async (status) => {
      const error = await errorFromResponse(response(status, '7'));
      expect(error).toBeInstanceOf(PermanentError);
      expect(error.message).toBe(`Unexpected status: ${status}`);
    },
  );

  test.each([401, 403, 404, 405, 407, 408, 425, 500, 502, 503, 504, 529])(
    '%i is the receiver’s: it may be misconfigured, or busy',
    async (status) => {
      const error = await errorFromResponse(response(status));
      expect(error).toBeInstanceOf(UnavailableError);
      // Code that tells permanent from transient errors still works.
      expect(error).toBeInstanceOf(TransientError);
      // One customer's route may be gone while others work.
      expect(error).toMatchObject({ permanent: false, isCertain: false });
      expect(error.message).toBe(`${status >= 500 ? 'Server error' : 'Unexpected status'}: ${status}`);
      expect(await retryAfterMs(status)).toBeUndefined();
      expect(await retryAfterMs(status, '7')).toBe(7_000);
    },
  );

  test.each([300, 301, 302, 303, 304, 307, 308])(
    '%i is the receiver’s and names its location',
    async (status) => {
      const headers = new Headers({
        location: 'https://app:hunter2@login.example/?token=hunter2',
        'retry-after': '7',
      });
      const error = await errorFromResponse({ status, headers, text: async () => '' });
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error.message).toBe(
        `Unexpected redirect: ${status} to https://***@login.example/?token=***; it was not followed, since a redirected POST may arrive without its body`,
      );
      expect(error).toHaveProperty('retryAfterMs', 7_000);
    },
  );

  test('a redirect without a location says so, and a long location is cut', async () => {
    expect((await errorFromResponse(response(302))).message).toMatch(
      /^Unexpected redirect: 302 without a location;/,
    );
    const headers = new Headers({ location: `https://x/${'y'.repeat(5_000)}` });
    const { message } = await errorFromResponse({ status: 302, headers, text: async () => '' });
    expect(message.length).toBeLessThan(1_200);
  });

  test('an opaque redirect is the receiver’s', async () => {
    const hidden = { type: 'opaqueredirect', status: 0, headers: new Headers(), text: async () => '' };
    const error = await errorFromResponse(hidden);
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error.message).toMatch(/^Unexpected redirect: hidden by the runtime;/);
  });

  test.each<[string, string | undefined, number]>([
    ['seconds', '120', 120_000],
    ['zero', '0', 0],
    ['seconds with blanks', ' 5 ', 5_000],
    ['a date', 'Thu, 01 Jan 2026 00:02:00 GMT', 120_000],
    ['a date in the past', 'Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['nothing', undefined, 60_000],
    ['an empty text', '', 60_000],
    ['garbage', 'garbage', 60_000],
    ['garbage with a number', 'soon 5', 60_000],
    ['a negative number', '-5', 60_000],
    ['a fraction', '1.5', 60_000],
  ])('429 with %s as Retry-After is the receiver’s', async (_name, header, expected) => {
    expect(await retryAfterMs(429, header)).toBe(expected);
  });

  test('500 has no delay', async () => {
    const error = await errorFromResponse(response(500));
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error.message).toBe('Server error: 500');
    expect(error).toHaveProperty('retryAfterMs', undefined);
  });

  test.each(['86400', '9'.repeat(400), 'Fri, 01 Jan 2027 00:00:00 GMT'])(
    'a receiver can not hold back a row for longer than an hour: %s',
    async (header) => {
      expect(await retryAfterMs(503, header)).toBe(3_600_000);
      expect(await retryAfterMs(429, header)).toBe(3_600_000);
    },
  );

  test('503 takes the delay from Retry-After', async () => {
    expect(await retryAfterMs(503, '7')).toBe(7_000);
    expect(await retryAfterMs(503, 'garbage')).toBeUndefined();
  });

  test.each([200, 204, 299])('%i is not an error and is rejected', async (status) => {
    const success: HttpResponse = { status, headers: new Headers(), text: async () => '' };
    await expect(errorFromResponse(success)).rejects.toThrow(
      refusal('INVALID_ARGUMENT', `${status} is a success; check response.ok first`),
    );
  });
});

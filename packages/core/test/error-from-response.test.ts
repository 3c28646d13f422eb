import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { errorFromResponse, type HttpResponse } from '../src/error-from-response.js';
import { PermanentError, TransientError } from '../src/errors.js';
import { refusal } from './outbox-fixture.js';

function response(status: number, retryAfter?: string, body = 'the body'): Response {
  return new Response(body, {
    status,
    ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
  });
}

async function retryAfterMs(status: number, retryAfter?: string): Promise<number | undefined> {
  const error = await errorFromResponse(response(status, retryAfter));
  expect(error).toBeInstanceOf(TransientError);
  return error instanceof TransientError ? error.retryAfterMs : undefined;
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

  test('a body that breaks off keeps the error permanent', async () => {
    const broken: HttpResponse = {
      status: 400,
      headers: new Headers(),
      text: () => Promise.reject(new Error('socket hang up')),
    };
    const error = await errorFromResponse(broken);
    expect(error).toBeInstanceOf(PermanentError);
    expect(error.message).toBe('Bad request: (the body could not be read)');
  });

  test.each([301, 401, 403, 404, 409, 422])('%i is permanent', async (status) => {
    const error = await errorFromResponse(response(status));
    expect(error).toBeInstanceOf(PermanentError);
    expect(error.message).toBe(`Unexpected status: ${status}`);
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
  ])('429 with %s as Retry-After is transient', async (_name, header, expected) => {
    expect(await retryAfterMs(429, header)).toBe(expected);
  });

  test('500 is transient with no wait of its own', async () => {
    const error = await errorFromResponse(response(500));
    expect(error).toBeInstanceOf(TransientError);
    expect(error.message).toBe('Server error: 500');
    expect(error).toHaveProperty('retryAfterMs', undefined);
  });

  test('503 takes the wait from Retry-After', async () => {
    expect(await retryAfterMs(503, '7')).toBe(7_000);
    expect(await retryAfterMs(503, 'garbage')).toBeUndefined();
  });

  test.each([200, 204, 299])('%i is no error and is refused', async (status) => {
    const success: HttpResponse = { status, headers: new Headers(), text: async () => '' };
    await expect(errorFromResponse(success)).rejects.toThrow(
      refusal('INVALID_ARGUMENT', `${status} is a success; check response.ok first`),
    );
  });
});

import { PermanentError, TransientError } from '@postcommit/core';
import { describe, expect, it } from 'vitest';
import { cloudEventOf, type WebhookMessage, webhookReceiver } from '../src/index.js';
import { OLD, OTHER, type Signing, secondsFromNow, signedHeaders } from './signed-webhooks.js';

const body = '{"amount":12}';

type WebhookHandler = Parameters<ReturnType<typeof webhookReceiver>>[1];

const first: WebhookHandler = async () => true;
const known: WebhookHandler = async () => false;
const never: WebhookHandler = async () => {
  throw new Error('the handler must not be called');
};

function fetched(signing: Signing = {}, content: ReadableStream | string = signing.body ?? body): Request {
  const headers = signedHeaders({ body, ...signing });
  return new Request('http://x', { method: 'POST', headers, body: content, duplex: 'half' } as RequestInit);
}

const receive = webhookReceiver({ secret: OLD });

describe('a webhook is answered', () => {
  it('with 204 if the handler ran, and with 200 if the message was known', async () => {
    const seen: WebhookMessage[] = [];
    const answer = await receive(fetched(), async (message) => seen.push(message) === 1);
    expect(answer).toEqual({ status: 204, headers: {}, body: null });
    expect(seen).toMatchObject([{ id: 'm-1' }]);
    expect(seen[0]?.json()).toEqual({ amount: 12 });
    expect(await receive(fetched(), known)).toEqual({ status: 200, headers: {}, body: null });
  });

  it('in a form that Response takes', async () => {
    expect(new Response((await receive(fetched(), first)).body, await receive(fetched(), first)).status).toBe(
      204,
    );
    const refused = await receive(fetched({ secrets: [OTHER] }), never);
    const response = new Response(refused.body, refused);
    expect(response.status).toBe(401);
    expect(await response.text()).toBe('The webhook was refused: none of its signatures is right.\n');
  });

  it.each([
    ['another secret', { secrets: [OTHER] }],
    ['an old time', { timestamp: secondsFromNow(-400) }],
    ['a time to come', { timestamp: secondsFromNow(400) }],
  ])('with 401 for %s, and the handler is not called', async (_, signing) => {
    expect(await receive(fetched(signing), never)).toMatchObject({ status: 401 });
  });

  it('with 401 for another body, and without a signature', async () => {
    expect(await receive(fetched({}, '{"amount":13}'), never)).toMatchObject({ status: 401 });
    const unsigned = new Request('http://x', { method: 'POST', body });
    expect(await receive(unsigned, never)).toMatchObject({ status: 401 });
    expect(unsigned.bodyUsed, 'nobody reads the body of a stranger').toBe(false);
  });

  it('with 400 for what can not be read', async () => {
    const request = (): Request => fetched({ body: 'no JSON' });
    expect(await receive(request(), async (message) => message.json() === 1)).toMatchObject({
      status: 400,
      body: expect.stringContaining('the body of the webhook is not JSON'),
      error: expect.objectContaining({ code: 'INVALID_MESSAGE' }),
    });
    expect(await receive(request(), async (message) => cloudEventOf(message).id === 'x')).toMatchObject({
      status: 400,
    });
  });

  it('with 422 for what is never accepted, and with 503 for what fails; only we see why', async () => {
    for (const [status, error] of [
      [422, new PermanentError('secret')],
      [503, new Error('secret')],
      [503, new TransientError('secret')],
      [503, 'secret'],
    ] as const) {
      const answer = await receive(fetched(), async () => Promise.reject(error));
      expect(answer).toMatchObject({ status, error });
      expect(answer.body).not.toContain('secret');
    }
  });
});

describe('a body', () => {
  const limited = webhookReceiver({ secret: OLD, maxBodyBytes: body.length, bodyTimeoutMs: 100 });
  const streamOf = (...chunks: string[]): ReadableStream => new Blob(chunks).stream();

  it('may have as many bytes as allowed, and no more', async () => {
    expect(await limited(fetched(), first)).toMatchObject({ status: 204 });
    const longer = `${body} `;
    expect(await limited(fetched({ body: longer }), never)).toMatchObject({
      status: 413,
      headers: { connection: 'close' },
    });
    const headers = signedHeaders({ body: longer });
    const given = { headers, body: Buffer.from(longer) };
    expect(await limited(given, never)).toMatchObject({ status: 413 });
  });

  it('is not read further than allowed, even if it never ends', async () => {
    let pulled = 0;
    let isCancelled = false;
    const endless = new ReadableStream({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(8));
      },
      cancel: () => {
        isCancelled = true;
      },
    });
    expect(await limited(fetched({}, endless), never)).toMatchObject({ status: 413 });
    expect(isCancelled).toBe(true);
    expect(pulled).toBeLessThan(10);
  });

  it('that does not arrive is waited for only so long', async () => {
    const silent = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) });
    expect(await limited(fetched({}, silent), never)).toMatchObject({ status: 408 });
  });

  it('that is cut off is not handled', async () => {
    const cut = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
    expect(await receive(fetched({}, cut), never)).toMatchObject({ status: 408 });
  });

  it('may come in pieces, be empty, or have been read before', async () => {
    expect(await receive(fetched({}, streamOf('{"amou', 'nt":12}')), first)).toMatchObject({ status: 204 });
    const empty = new Request('http://x', { method: 'POST', headers: signedHeaders({ body: '' }) });
    expect(await receive(empty, first)).toMatchObject({ status: 204 });
    const headers = signedHeaders({ body });
    expect(await receive({ headers, body }, first)).toMatchObject({ status: 204 });
    const nest = { headers, rawBody: Buffer.from(body), body: JSON.parse(body) };
    expect(await receive(nest, first)).toMatchObject({ status: 204 });
  });

  it('must not have been parsed or read by others', async () => {
    const gone = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('raw body'),
    });
    const used = fetched();
    await used.text();
    await expect(receive(used, never)).rejects.toThrow(gone);
    await expect(receive({ headers: signedHeaders({ body }), body: { amount: 12 } }, never)).rejects.toThrow(
      gone,
    );
    await expect(receive({ headers: signedHeaders({ body }) }, never)).rejects.toThrow(gone);
  });
});

describe('webhookReceiver refuses', () => {
  it.each([
    [{}, 'webhookReceiver: secret must be'],
    [{ secret: OLD, secrets: OLD }, "unknown option 'secrets': did you mean 'secret'?"],
    [{ secret: OLD, maxBodyBytes: 0 }, 'maxBodyBytes must be a whole number from 1'],
    [{ secret: OLD, bodyTimeoutMs: 2 ** 31 }, 'bodyTimeoutMs must be at least 1'],
    [{ secret: OLD, toleranceMs: 5 }, 'webhookReceiver: toleranceMs must be at least 1000'],
    [undefined, 'webhookReceiver: secret must be'],
  ])('the options %j', (options, problem) => {
    expect(() => webhookReceiver(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining(problem) }),
    );
  });

  it('a request without headers, and a handler that is none or says nothing', async () => {
    const refused = (problem: string): unknown =>
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(problem) });
    await expect(receive({} as never, first)).rejects.toThrow(refused('no headers'));
    await expect(receive(undefined as never, first)).rejects.toThrow(refused('no headers'));
    await expect(receive(fetched(), undefined as never)).rejects.toThrow(
      refused('handler must be a function'),
    );
    const silent = async (): Promise<void> => {};
    await expect(receive(fetched(), silent as never)).rejects.toThrow(refused('what handleOnce returned'));
  });
});

import { OutboxError } from '@postcommit/core';
import { rawBytes } from './verify-webhook.js';

/** How much of a body is read, and for how long. */
export interface BodyLimits {
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
}

/** The body, or why there is none. */
export type RawBody = Uint8Array | 'too-large' | 'too-slow' | 'cut';

/**
 * Reads the raw body of a request: of fetch, of Node, or what a framework has read already (`rawBody`, `body`).
 *
 * @throws `INVALID_ARGUMENT` if only a parsed body is left.
 */
export async function rawBodyOf(request: object, limits: BodyLimits): Promise<RawBody> {
  const { rawBody, body } = request as { readonly rawBody?: unknown; readonly body?: unknown };
  const read = rawBytes(rawBody) ?? rawBytes(body);
  if (read !== undefined) return read.length > limits.maxBodyBytes ? 'too-large' : read;
  if (wasConsumed(request)) throw notRaw();
  if (body === null) return new Uint8Array();
  const chunks = chunksOf(body === undefined ? request : body);
  if (chunks === undefined) throw notRaw();
  return readWithin(chunks, limits);
}

function wasConsumed(request: object): boolean {
  const { bodyUsed, readableDidRead } = request as { bodyUsed?: unknown; readableDidRead?: unknown };
  return bodyUsed === true || readableDidRead === true;
}

function chunksOf(stream: unknown): AsyncIterator<unknown> | undefined {
  if (typeof stream !== 'object' || stream === null || !(Symbol.asyncIterator in stream)) return undefined;
  return (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
}

async function readWithin(chunks: AsyncIterator<unknown>, limits: BodyLimits): Promise<RawBody> {
  let timer: NodeJS.Timeout | undefined;
  const tooSlow = new Promise<'too-slow'>((resolve) => {
    timer = setTimeout(() => resolve('too-slow'), limits.bodyTimeoutMs);
  });
  try {
    return await collect(chunks, limits.maxBodyBytes, tooSlow);
  } finally {
    clearTimeout(timer);
  }
}

async function collect(
  chunks: AsyncIterator<unknown>,
  maxBytes: number,
  tooSlow: Promise<'too-slow'>,
): Promise<RawBody> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const next = await Promise.race([nextOf(chunks), tooSlow]);
    if (next === 'cut') return next;
    if (next === 'too-slow') return abandon(chunks, next);
    if (next.done) return Buffer.concat(read);
    const chunk = rawBytes(next.value) ?? new Uint8Array();
    bytes += chunk.length;
    if (bytes > maxBytes) return abandon(chunks, 'too-large');
    read.push(chunk);
  }
}

/** The connection broke: nobody is left to be answered. */
async function nextOf(chunks: AsyncIterator<unknown>): Promise<IteratorResult<unknown> | 'cut'> {
  try {
    return await chunks.next();
  } catch {
    return 'cut';
  }
}

/** Not awaited: it would wait for the chunk that does not come. */
function abandon<Reason>(chunks: AsyncIterator<unknown>, reason: Reason): Reason {
  void chunks.return?.()?.then(undefined, () => undefined);
  return reason;
}

function notRaw(): OutboxError {
  return new OutboxError(
    'INVALID_ARGUMENT',
    'webhookReceiver: the raw body is needed, but it was read or parsed before: leave this route out of the body parser, or pass { headers, body } with the bytes',
  );
}

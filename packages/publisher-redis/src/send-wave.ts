import { type OutboxRow, type PublishResult, UnavailableError } from '@postcommit/core';
import { requirementsOf, shortfall } from './durability.js';
import { isOutdated, publishError } from './redis-errors.js';
import { type AddOptions, addCommand, type RedisMessage, toMessage } from './redis-message.js';
import type { AnyRedisOptions } from './redis-options.js';
import { isIdempotent } from './server-info.js';
import type { Connected } from './sessions.js';

const DELIVERED: PublishResult = { status: 'fulfilled' };
const NO_RESULT = rejected(new TypeError('the message was not sent'));

/** What a wave needs of the publisher. */
export interface WaveContext {
  readonly options: AnyRedisOptions;
  readonly signal: AbortSignal;
  connect(): Promise<Connected>;
  outdated(connected: Connected): void;
}

/** Sends rows in one pipeline. A row that Redis can't take is refused before anything is sent. */
export async function sendWave(
  rows: readonly OutboxRow[],
  context: WaveContext,
): Promise<readonly PublishResult[]> {
  const encoded = await Promise.allSettled(rows.map((row) => toMessage(row, context.options)));
  const messages = encoded.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const sent = messages.length === 0 ? [] : await sendOrFail(messages, context);
  const results = sent.values();
  return encoded.map((one) => (one.status === 'rejected' ? one : (results.next().value ?? NO_RESULT)));
}

/** Without a connection, all of them fail alike. */
async function sendOrFail(
  messages: readonly RedisMessage[],
  context: WaveContext,
): Promise<readonly PublishResult[]> {
  try {
    return await send(messages, await context.connect(), context);
  } catch (reason) {
    return messages.map(() => rejected(reason));
  }
}

async function send(
  messages: readonly RedisMessage[],
  connected: Connected,
  { options, signal, outdated }: WaveContext,
): Promise<readonly PublishResult[]> {
  const adding = addOptions(options, connected);
  const requirements = requirementsOf(options.durability);
  const replies = await connected.session.pipeline(
    [
      ...messages.map((message) => addCommand(message, adding)),
      ...requirements.map(({ command }) => command),
    ],
    signal,
  );
  if (replies.some((reply) => reply.status === 'rejected' && isOutdated(reply.reason))) outdated(connected);
  const missing = shortfall(requirements, replies.slice(messages.length));
  return messages.map((message, index) => {
    const result = resultOf(message, replies[index], missing);
    return result.status === 'fulfilled' ? result : rejected(reasonOf(result.reason, message, signal));
  });
}

function addOptions(options: AnyRedisOptions, { server }: Connected): AddOptions {
  const { streamMustExist = false, idempotent = true, maxLength } = options;
  return { streamMustExist, isIdempotent: idempotent && isIdempotent(server), maxLength };
}

function resultOf(
  message: RedisMessage,
  reply: PromiseSettledResult<unknown> | undefined,
  missing: unknown,
): PublishResult {
  if (reply?.status !== 'fulfilled') return reply ?? NO_RESULT;
  // `NOMKSTREAM` answers with nothing instead of the id of the entry.
  if (reply.value === null) return rejected(unroutable(message));
  return missing === undefined ? DELIVERED : rejected(missing);
}

/** The engine's own reason for giving up stays as it is. */
function reasonOf(error: unknown, message: RedisMessage, signal: AbortSignal): unknown {
  return signal.aborted && error === signal.reason ? error : publishError(error, message);
}

function unroutable({ stream }: RedisMessage): UnavailableError {
  return new UnavailableError(`there is no stream ${stream}`, {
    isCertain: true,
    cause: new Error('XADD NOMKSTREAM added nothing'),
  });
}

function rejected(reason: unknown): PublishResult {
  return { status: 'rejected', reason };
}

import { createHash } from 'node:crypto';
import { OutboxError, type ProcessedMessages } from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';

/** Who handles which message. */
export interface Handling {
  /** The name of the consumer: each consumer handles every message once. Up to 255 characters. */
  readonly consumer: string;
  /** The id of the message, such as `messageIdOf` returns it. */
  readonly id: string;
}

const NAMES: OptionNames<Handling> = { consumer: true, id: true };
/** What the table of processed messages has room for. */
const MAX_CONSUMER_LENGTH = 255;
const MAX_ID_LENGTH = 36;
const HASHED = 'sha256:';

/**
 * Runs the handler in your transaction, unless this consumer has handled the message before. Its effect and the record of
 * the message commit together, so acknowledge after the commit: what is delivered again is then skipped. If the handler
 * throws, roll back; the message is forgotten with everything else.
 *
 * @returns whether the handler ran.
 * @throws `INVALID_ARGUMENT` for an invalid name or id, and whatever the handler throws.
 *
 * @example
 * await inTransaction(pool, (tx) =>
 *   handleOnce(processed, tx, { consumer: 'points', id: messageIdOf(message) }, async () => {
 *     await tx.query('update points set total = total + 10 where customer = $1', [customer]);
 *   }),
 * );
 * channel.ack(message);
 */
export async function handleOnce<Tx, Given extends Tx>(
  processed: ProcessedMessages<Tx>,
  tx: Given,
  handling: Handling,
  handler: (tx: Given) => Promise<void>,
): Promise<boolean> {
  assertHandling(handling);
  if (typeof handler !== 'function') throw invalid('the handler must be a function');
  return processed.processOnce(tx, handling.consumer, storedId(handling.id), () => handler(tx));
}

function assertHandling(handling: Handling): void {
  assertKnownOptions('handleOnce', handling, NAMES, 'INVALID_ARGUMENT');
  const { consumer, id }: { consumer?: unknown; id?: unknown } = handling ?? {};
  if (typeof id !== 'string' || id === '') throw invalid('id must be a text that is not empty');
  if (typeof consumer !== 'string' || consumer === '' || consumer.length > MAX_CONSUMER_LENGTH)
    throw invalid(`consumer must be a text of 1 to ${MAX_CONSUMER_LENGTH} characters`);
}

/** Ids of others may be longer than ours. Cut off, two of them could become the same. */
function storedId(id: string): string {
  if (/^[\x21-\x7e]{1,36}$/.test(id) && !id.startsWith(HASHED)) return id;
  const digest = createHash('sha256').update(id).digest('base64url');
  return `${HASHED}${digest}`.slice(0, MAX_ID_LENGTH);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_ARGUMENT', `handleOnce: ${problem}`);
}

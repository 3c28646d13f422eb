// queue-publisher.ts
import {
  OutboxPublisher,
  type OutboxRow,
  PermanentError,
  type PublishBatchContext,
  type PublishContext,
  type PublishResult,
  publishInWaves,
  UnavailableError,
} from '@postcommit/core';

export interface QueueOptions {
  readonly url: string;
  readonly token: string;
  readonly timeoutMs: number;
}

/** Publishes to an HTTP queue that takes a list of messages and answers with a word for each. */
export class QueuePublisher extends OutboxPublisher {
  readonly #options: QueueOptions;

  constructor(options: QueueOptions) {
    super();
    this.#options = options;
  }

  async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    const [result] = await this.publishBatch([row], context);
    if (result?.status !== 'fulfilled') throw result?.reason;
  }

  override publishBatch(
    rows: readonly OutboxRow[],
    { signal }: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    return publishInWaves(rows, (wave) => this.#send(wave, signal), { signal, maxRows: 100 });
  }

  async #send(wave: readonly OutboxRow[], signal: AbortSignal): Promise<PublishResult[]> {
    // A row that the queue can't take is refused before anything is sent.
    const possible = wave.filter(({ topic }) => /^[\w.-]+$/.test(topic));
    const answers = possible.length === 0 ? [] : await this.#post(possible, signal);
    return wave.map((row) => {
      const index = possible.indexOf(row);
      return index === -1
        ? rejected(new PermanentError(`'${row.topic}' can't be a topic`))
        : resultOf(row, answers[index]);
    });
  }

  async #post(rows: readonly OutboxRow[], signal: AbortSignal): Promise<readonly string[]> {
    const { url, token, timeoutMs } = this.#options;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`no answer for ${timeoutMs} ms`)), timeoutMs);
    try {
      const response = await fetch(`${url}/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, connection: 'close' },
        body: JSON.stringify(rows.map(messageOf)),
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
      });
      if (!response.ok) throw new Error(`the queue answered ${response.status}`);
      return (await response.json()) as string[];
    } catch (cause) {
      throw new UnavailableError('the queue is away', { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}

export type QueueMessage = ReturnType<typeof messageOf>;

function messageOf({ id, topic, key, headers, createdAt, payload }: OutboxRow) {
  const fields = { 'outbox-id': id, 'outbox-topic': topic, 'outbox-created-at': createdAt.toISOString() };
  return {
    id,
    topic,
    key,
    headers: { ...headers, ...fields, ...(key !== undefined && { 'outbox-key': key }) },
    contentType: 'application/json',
    body: JSON.stringify(payload),
  };
}

/** Only `stored` means delivered. A row without an answer is not. */
function resultOf({ topic }: OutboxRow, answer: string | undefined): PublishResult {
  if (answer === 'stored') return { status: 'fulfilled' };
  return rejected(new UnavailableError(`the queue did not take a message for '${topic}': ${answer}`));
}

function rejected(reason: Error): PublishResult {
  return { status: 'rejected', reason };
}

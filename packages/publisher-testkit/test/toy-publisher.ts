import {
  type MessageFormat,
  OutboxPublisher,
  type OutboxRow,
  PermanentError,
  type PublishContext,
  type PublisherCheckContext,
  type PublisherProblem,
  type PublishResult,
  publishInWaves,
  UnavailableError,
} from '@postcommit/core';
import { encodeRow, SharedConnection, structuredCloudEvent } from '@postcommit/core/internal';
import { ToyClient } from './toy-client.js';
import type { ToyAnswer, ToyCommand, ToyMessage } from './toy-protocol.js';

export interface ToyOptions extends MessageFormat {
  readonly host: string;
  readonly port: number;
  readonly password: string;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** A client of the application. */
  readonly client?: ToyClient;
}

/** The reference: a publisher without a defect. Its methods are small, so that a mutant can replace one. */
export class ToyPublisher extends OutboxPublisher {
  override readonly name = 'toy';
  protected readonly options: ToyOptions;
  protected readonly connection: SharedConnection<ToyClient>;
  protected readonly inFlight = new Set<Promise<unknown>>();
  protected stopping = new AbortController();

  constructor(options: ToyOptions) {
    super();
    this.options = options;
    this.connection = new SharedConnection({
      open: () => this.open(),
      close: async (client) => this.close(client),
    });
  }

  override async start(): Promise<void> {
    this.stopping = new AbortController();
    await this.request({ do: 'settings' }, this.limit());
  }

  async publish(row: OutboxRow, { signal }: Pick<PublishContext, 'signal'>): Promise<void> {
    const sending = this.send(row, signal);
    this.inFlight.add(sending);
    try {
      await sending;
    } finally {
      this.inFlight.delete(sending);
    }
  }

  override publishBatch(
    rows: readonly OutboxRow[],
    { signal }: Pick<PublishContext, 'signal'>,
  ): Promise<readonly PublishResult[]> {
    const publishAll = (wave: readonly OutboxRow[]) =>
      Promise.allSettled(wave.map((row) => this.publish(row, { signal })));
    return publishInWaves(rows, publishAll, { signal, maxRows: 100 });
  }

  override async stop({ graceMs = 10_000 }: { readonly graceMs?: number }): Promise<void> {
    const timer = setTimeout(() => this.stopping.abort(new UnavailableError('stopped')), graceMs);
    await Promise.allSettled(this.inFlight);
    clearTimeout(timer);
    this.stopping.abort(new UnavailableError('stopped'));
    await this.connection.close();
  }

  override async check({ redeliveryAfterMs }: PublisherCheckContext): Promise<readonly PublisherProblem[]> {
    const { settings } = await this.request({ do: 'settings' }, this.limit());
    const problems: PublisherProblem[] = [];
    if (!settings?.isDurable)
      problems.push({
        level: 'warning',
        problem: 'the broker forgets messages at a restart',
        fix: 'make it durable',
      });
    if (settings?.dedupes && settings.dedupeWindowMs < redeliveryAfterMs)
      problems.push({
        level: 'warning',
        problem: 'the dedupe window is too short',
        fix: `raise it to ${redeliveryAfterMs} ms`,
      });
    return problems;
  }

  protected async open(): Promise<ToyClient> {
    const client =
      this.options.client ?? (await ToyClient.open(this.options, this.options.password, this.limit()));
    client.onClose(() => void this.connection.lost(client));
    return client;
  }

  protected close(client: ToyClient): void {
    if (client !== this.options.client) client.close();
  }

  protected async send(row: OutboxRow, signal: AbortSignal): Promise<void> {
    const limit = this.limit(signal);
    const message = await this.messageOf(row);
    this.assertPossible(row, message);
    this.settle(row, await this.request({ do: 'send', message }, limit));
  }

  /** Aborts after the publisher's own time limit, and when it is stopped. */
  protected limit(signal?: AbortSignal): AbortSignal {
    const { timeoutMs } = this.options;
    const late = new AbortController();
    // Not AbortSignal.timeout(): inside AbortSignal.any(), Node 20 forgets it when it collects garbage.
    setTimeout(() => late.abort(new Error(`no answer for ${timeoutMs} ms`)), timeoutMs).unref();
    const limits = [this.stopping.signal, late.signal];
    return AbortSignal.any(signal ? [...limits, signal] : limits);
  }

  protected async messageOf(row: OutboxRow): Promise<ToyMessage> {
    const { cloudEvents } = this.options;
    const { body, contentType, headers } = {
      ...(await encodeRow(row, this.options)),
      ...(cloudEvents && (await structuredCloudEvent(row, cloudEvents.source, this.options))),
    };
    const base64 = Buffer.from(body).toString('base64');
    return {
      id: row.id,
      topic: row.topic,
      key: row.key,
      headers,
      contentType,
      body: base64,
      isDurable: true,
    };
  }

  protected assertPossible(row: OutboxRow, message: ToyMessage): void {
    const { maxBodyBytes } = this.options;
    if (Buffer.byteLength(message.body, 'base64') > maxBodyBytes)
      throw new PermanentError(`row ${row.id}: the body is longer than ${maxBodyBytes} bytes`);
    if (!/^[\w.-]+$/.test(row.topic)) throw new PermanentError(`row ${row.id}: the topic is not a name`);
    if (row.key !== undefined && row.key.length > 200)
      throw new PermanentError(`row ${row.id}: the key is longer than 200 characters`);
  }

  protected async request(command: ToyCommand, limit: AbortSignal): Promise<ToyAnswer> {
    try {
      const client = await orAborted(this.connection.get(), limit);
      limit.throwIfAborted();
      return await this.ask(client, command, limit);
    } catch (error) {
      throw this.toError(error);
    }
  }

  /** A connection that does not answer in time is not used again. */
  protected async ask(client: ToyClient, command: ToyCommand, limit: AbortSignal): Promise<ToyAnswer> {
    try {
      return await orAborted(client.request(command), limit);
    } catch (error) {
      await this.connection.lost(client);
      this.close(client);
      throw error;
    }
  }

  protected settle(row: OutboxRow, { refused }: ToyAnswer): void {
    if (refused === 'no topic')
      throw new UnavailableError(`row ${row.id}: the broker has no topic '${row.topic}'`);
    if (refused) throw new UnavailableError(`row ${row.id} was refused: ${refused}`);
  }

  protected toError(error: unknown): unknown {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const isCertain = code === 'TOY_LOGIN' || code === 'ECONNREFUSED';
    return new UnavailableError('the toy broker is away', { isCertain, cause: error });
  }
}

/** Rejects as soon as the signal aborts. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PermanentError, type ProcessedMessages } from '@postcommit/core';
import {
  handleOnce,
  messageIdOf,
  type WebhookAnswer,
  type WebhookMessage,
  type WebhookReceiver,
  webhookReceiver,
} from '@postcommit/inbox';
import { inTransaction } from '@postcommit/store-pg';
import type { Pool, PoolClient } from 'pg';

interface Payment {
  readonly account: string;
  readonly amount: number;
}

export interface ReceiverOptions {
  readonly pool: Pool;
  readonly processed: ProcessedMessages<PoolClient>;
  readonly secret: string;
}

/**
 * The other side, as a partner would run it. Its day is a bad one: a deploy redirects the first request of a payment to
 * a login page, the second one comes too early, and the answer to the third gets lost after the work is done.
 */
export class Receiver {
  /** How each request with this id was answered, in order. */
  readonly answers = new Map<string, string[]>();
  readonly #options: ReceiverOptions;
  readonly #receive: WebhookReceiver;
  readonly #confirmed = new EventEmitter();
  readonly #server = createServer((request, response) => this.#answer(request, response));

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#receive = webhookReceiver({ secret: options.secret });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when it was confirmed that the message is known. */
  confirms(id: string): Promise<unknown> {
    return once(this.#confirmed, id);
  }

  async close(): Promise<void> {
    // A keep-alive connection would hold up the close.
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = messageIdOf(request);
    const before = this.answers.get(id) ?? [];
    const answer = await this.#receive(request, (message) => this.#credit(message, before.length));
    if (answer.error !== undefined) console.log(`${id}: ${String(answer.error)}`);
    const shown = onABadDay(answer, before.length);
    console.log(`POST ${request.url} ${shown}`);
    this.answers.set(id, [...before, shown]);
    if (shown === 'lost') return void response.destroy();
    if (shown === '302') response.setHeader('location', '/login');
    if (shown === '503') response.setHeader('retry-after', '1');
    response.writeHead(Number(shown), answer.headers).end(answer.body);
    if (shown === '200') this.#confirmed.emit(id);
    return undefined;
  }

  /** The effect and the memory of the message commit together. False if it was processed before. */
  async #credit(message: WebhookMessage, requestsBefore: number): Promise<boolean> {
    const { account, amount } = message.json() as Payment;
    if (amount < 0) throw new PermanentError('this account takes no refunds');
    if (requestsBefore < 2) throw new Error('the payment can not be credited now');
    const { pool, processed } = this.#options;
    return inTransaction(pool, (tx) =>
      handleOnce(processed, tx, { consumer: 'payments', id: message.id }, async () => {
        const sql = 'update balances set total = total + $1 where account = $2';
        await tx.query(sql, [amount, account]);
      }),
    );
  }
}

/** What the sender gets to see. */
function onABadDay({ status }: WebhookAnswer, requestsBefore: number): string {
  if (status === 503 && requestsBefore === 0) return '302';
  return status === 204 ? 'lost' : String(status);
}

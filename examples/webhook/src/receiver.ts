import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ProcessedMessages } from '@postcommit/core';
import { inTransaction } from '@postcommit/store-pg';
import type { Pool, PoolClient } from 'pg';
import { isGenuine } from './signature.js';

interface Payment {
  readonly account: string;
  readonly amount: number;
}

interface Request {
  readonly path: string;
  readonly id: string;
  readonly body: string;
  readonly isGenuine: boolean;
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
  readonly #confirmed = new EventEmitter();
  readonly #server = createServer(async (request, response) => {
    const body = await text(request);
    await this.#answer(this.#read(request.url, request.headers, body), response);
  });

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when the message was answered with 204. */
  confirms(id: string): Promise<unknown> {
    return once(this.#confirmed, id);
  }

  async close(): Promise<void> {
    // A keep-alive connection would hold up the close.
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #read(path = '', headers: IncomingHttpHeaders, body: string): Request {
    const header = (name: string): string => String(headers[name] ?? '');
    const id = header('webhook-id');
    const signed = {
      id,
      timestamp: header('webhook-timestamp'),
      signature: header('webhook-signature'),
      body,
    };
    return { path, id, body, isGenuine: isGenuine(this.#options.secret, signed) };
  }

  async #answer(request: Request, response: ServerResponse): Promise<void> {
    const before = this.answers.get(request.id) ?? [];
    const answer = await this.#decide(request, before.length);
    console.log(`POST ${request.path} ${answer}`);
    this.answers.set(request.id, [...before, answer]);
    if (answer === 'lost') return void response.destroy();
    if (answer === '302') response.setHeader('location', '/login');
    if (answer === '503') response.setHeader('retry-after', '1');
    response.writeHead(Number(answer)).end();
    if (answer === '204') this.#confirmed.emit(request.id);
    return undefined;
  }

  async #decide({ path, id, body, isGenuine }: Request, requestsBefore: number): Promise<string> {
    if (path !== '/hooks') return '404';
    if (!isGenuine) return '401';
    const payment = JSON.parse(body) as Payment;
    if (payment.amount < 0) return '422';
    const trouble = ['302', '503'][requestsBefore];
    if (trouble !== undefined) return trouble;
    try {
      return (await this.#credit(id, payment)) ? 'lost' : '204';
    } catch (error) {
      console.log('the payment could not be credited now:', error);
      return '503';
    }
  }

  /** The effect and the memory of the message commit together. False if it was processed before. */
  async #credit(id: string, { account, amount }: Payment): Promise<boolean> {
    const { pool, processed } = this.#options;
    return inTransaction(pool, (tx) =>
      processed.processOnce(tx, 'payments', id, async () => {
        const sql = 'update balances set total = total + $1 where account = $2';
        await tx.query(sql, [amount, account]);
      }),
    );
  }
}

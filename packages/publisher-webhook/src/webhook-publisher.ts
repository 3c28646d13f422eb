import {
  OutboxError,
  OutboxPublisher,
  type OutboxRow,
  PermanentError,
  type PublishContext,
  type StopOptions,
  UnavailableError,
} from '@postcommit/core';
import { absenceOf, DEFAULT_GRACE_MS, endsWithin, systemClock } from '@postcommit/core/internal';
import { AddressGuard } from './address-guard.js';
import { Deadline } from './deadline.js';
import { fetchTransport } from './fetch-transport.js';
import { GuardedTransport } from './guarded-transport.js';
import { errorOf } from './response-error.js';
import { urlProblem } from './target.js';
import type { Transport, WebhookResponse } from './transport.js';
import { messageOf, type WebhookMessage } from './webhook-message.js';
import { assertWebhookOptions, DEFAULT_TIMEOUT_MS, type WebhookOptions } from './webhook-options.js';

/**
 * Publishes each row as a POST, signed as Standard Webhooks has it. Only a 2xx means delivered.
 *
 * @throws OutboxError `INVALID_CONFIG` for an invalid option.
 * @example
 * createOutbox({
 *   store,
 *   publisher: webhookPublisher({ url: 'https://partner.example/hooks', secret: process.env.WEBHOOK_SECRET ?? '' }),
 * });
 */
export function webhookPublisher(options: WebhookOptions): OutboxPublisher {
  return new WebhookPublisher(options);
}

class WebhookPublisher extends OutboxPublisher {
  override readonly name = 'webhook';
  override readonly destinationOf?: (row: OutboxRow) => string;
  readonly #options: WebhookOptions;
  readonly #transport: Transport;
  readonly #inFlight = new Map<Promise<void>, Deadline>();

  constructor(options: WebhookOptions) {
    super();
    assertWebhookOptions(options);
    const { url, destinationOf } = options;
    this.#options = options;
    this.#transport = transportFor(options);
    // Without it, all rows share one destination, and none is claimed while it is away.
    if (destinationOf || typeof url === 'function') {
      this.destinationOf = destinationOf ?? ((row) => checkedUrl(row, promised(url, row)).host);
    }
  }

  publish(row: OutboxRow, { signal }: PublishContext): Promise<void> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const deadline = new Deadline(
      signal,
      timeoutMs,
      () => new UnavailableError(`no answer within ${timeoutMs} ms`),
    );
    const delivery = this.#deliver(row, deadline).finally(() => {
      deadline.end();
      this.#inFlight.delete(delivery);
    });
    this.#inFlight.set(delivery, deadline);
    return delivery;
  }

  override async stop({ graceMs = DEFAULT_GRACE_MS }: StopOptions = {}): Promise<void> {
    const settled = (): Promise<unknown> => Promise.allSettled(this.#inFlight.keys());
    if (!(await endsWithin(graceMs, settled(), systemClock))) {
      const reason = new UnavailableError('the publisher was stopped before the answer came');
      for (const deadline of this.#inFlight.values()) deadline.abort(reason);
      await settled();
    }
    this.#transport.close();
  }

  async #deliver(row: OutboxRow, deadline: Deadline): Promise<void> {
    const url = checkedUrl(row, await deadline.within(this.#urlOf(row)));
    const message = await deadline.within(messageOf(row, url, this.#options));
    const response = await this.#send(message, deadline);
    const { statuses } = this.#options;
    const what = `${row.topic} to ${url.host}`;
    const error = await errorOf(response, { what, message, statuses }, deadline);
    if (error) throw error;
  }

  async #urlOf(row: OutboxRow): Promise<string | URL> {
    const { url, destinationOf } = this.#options;
    if (typeof url !== 'function') return url;
    // Otherwise one endpoint that is away would stop all others.
    return destinationOf ? url(row) : promised(url, row);
  }

  async #send({ request }: WebhookMessage, deadline: Deadline): Promise<WebhookResponse> {
    const { signal } = deadline;
    try {
      return await this.#transport.send(request, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof Error && 'permanent' in error) throw error;
      throw unreachable(request.url, error);
    }
  }
}

function transportFor({ url, allowPrivateAddresses }: WebhookOptions): Transport {
  const allowed = allowPrivateAddresses ?? typeof url !== 'function';
  if (allowed === true) return fetchTransport;
  return new GuardedTransport(new AddressGuard(allowed === false ? [] : allowed));
}

function checkedUrl(row: OutboxRow, given: string | URL): URL {
  const problem = urlProblem(given);
  if (problem !== undefined) throw new PermanentError(`the URL of row ${row.id} ${problem}`);
  return new URL(given);
}

function promised(url: WebhookOptions['url'], row: OutboxRow): string | URL {
  const given = typeof url === 'function' ? url(row) : url;
  if (typeof given !== 'object' || !('then' in given)) return given;
  throw new OutboxError(
    'INVALID_CONFIG',
    'webhookPublisher: url returned a promise, so destinationOf is required: name what can be away on its own',
  );
}

/** Certificates and broken answers too: none of it is the row's fault. */
function unreachable({ host }: URL, error: unknown): UnavailableError {
  const isCertain = absenceOf(error)?.isCertain === true;
  return new UnavailableError(`${host} can't be reached`, { cause: error, isCertain });
}

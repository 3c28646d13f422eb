import { OutboxError } from '../message/errors.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { PublishContext } from '../message/publish-context.js';
import type { StopOptions } from '../modules/lifecycle.js';
import { nameToken } from '../modules/token.js';

/** The context of `publishBatch`. The attempt of each row is `row.attempts + 1`. */
export type PublishBatchContext = Pick<PublishContext, 'signal'>;

/** The result of one row of a batch. `Promise.allSettled` returns a list of these. */
export type PublishResult =
  | { readonly status: 'fulfilled' }
  | { readonly status: 'rejected'; readonly reason: unknown };

/** What `check` of a publisher compares the broker's settings with. */
export interface PublisherCheckContext {
  /** A row whose process died is published again after about this time. A broker's dedupe window must be longer. */
  readonly redeliveryAfterMs: number;
}

/** Something about the broker's settings, and how to fix it. */
export interface PublisherProblem {
  /** `required`: rows can't be sent, or get lost; start refuses. `warning`: less is promised than it seems. */
  readonly level: 'required' | 'warning';
  readonly problem: string;
  readonly fix: string;
}

/** What a publisher knows about its connection, without asking the broker. */
export interface PublisherHealth {
  readonly isConnected: boolean;
  /** Why nothing can be sent, such as a broker that blocks its producers. */
  readonly problem?: string;
}

/**
 * Delivers rows to a broker or another service. If `publish` resolves, the row is delivered; if it rejects, the row is
 * retried, unless the error is a `PermanentError`. A row may be published more than once, always with the same id.
 *
 * A publisher with a connection has `start` and `stop`. They are called by `app.start()` and `app.stop()`, also behind
 * routes; `dispatchPending()` calls `start` before its first row if the application does not run.
 */
export abstract class OutboxPublisher {
  static {
    nameToken(this, '@postcommit/core/OutboxPublisher');
  }

  abstract publish(row: OutboxRow, context: PublishContext): Promise<void>;

  /**
   * Optional, where one publisher sends to many places that can be away on their own: the host of a webhook, a tenant.
   * Rows with the same destination stop together when it is unavailable. By default all rows of a publisher do.
   */
  destinationOf?(row: OutboxRow): string;

  /**
   * Optional, for brokers that accept many messages at once. Called instead of `publish`, with all rows of a batch that
   * can be published now. Return one result for each row, in order; if it throws, all of them have failed.
   *
   * Rows with the same key are in order. Once one of them fails, don't send the ones behind it: they are published
   * again after it, whatever you report for them.
   */
  publishBatch?(rows: readonly OutboxRow[], context: PublishBatchContext): Promise<readonly PublishResult[]>;

  /** Optional: what logs and health checks call it, such as `rabbitmq`. @default the route, or `publisher` */
  declare readonly name?: string;

  /**
   * Optional: connects. Called again after `stop`. If it rejects because the broker is away (`UnavailableError`, or a
   * network error), the application starts all the same, and `publish` has to connect later. Any other error fails the
   * start: a wrong option, a topic that does not exist.
   */
  start?(): Promise<void>;

  /** Optional: waits for what is being sent, for up to `graceMs`, then closes what `start` or `publish` opened. */
  stop?(options: StopOptions): Promise<void>;

  /** Optional: looks for settings of the broker under which its confirmations are not true. Called after `start`. */
  check?(context: PublisherCheckContext): Promise<readonly PublisherProblem[]>;

  /** Optional: what is known without asking the broker. */
  health?(): PublisherHealth;
}

/** A publisher as a plain function. */
export type PublishFunction = (row: OutboxRow, context: PublishContext) => Promise<unknown>;

export function toPublisher(publisher: OutboxPublisher | PublishFunction): OutboxPublisher {
  if (typeof publisher === 'function') {
    if (isClass(publisher)) {
      throw new OutboxError(
        'INVALID_CONFIG',
        `publisher is the class ${publisher.name}; pass an instance, or bind the class: preferences: [{ provide: OutboxPublisher, useClass: ${publisher.name} }]`,
      );
    }
    return new FunctionPublisher(publisher);
  }
  if (typeof publisher?.publish !== 'function') {
    throw new OutboxError(
      'INVALID_CONFIG',
      'publisher must be a function or an object with a publish method',
    );
  }
  return publisher;
}

function isClass(value: PublishFunction): boolean {
  return (
    /^class\b/.test(Function.prototype.toString.call(value)) || typeof value.prototype?.publish === 'function'
  );
}

class FunctionPublisher extends OutboxPublisher {
  readonly publish: (row: OutboxRow, context: PublishContext) => Promise<void>;

  constructor(publish: PublishFunction) {
    super();
    // The resolved value is ignored, so the promise is passed on as it is.
    this.publish = publish as (row: OutboxRow, context: PublishContext) => Promise<void>;
  }
}

import { OutboxError } from '../message/errors.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { PublishContext } from '../message/publish-context.js';
import { nameToken } from '../modules/token.js';

/** For rows that are published in one call. The try of each is `row.attempts + 1`. */
export type PublishBatchContext = Pick<PublishContext, 'signal'>;

/** What became of one row of a batch; `Promise.allSettled` gives a list of these. */
export type PublishResult =
  | { readonly status: 'fulfilled' }
  | { readonly status: 'rejected'; readonly reason: unknown };

/**
 * Hands a row to the outside world. Resolving means delivered; any error means try again, unless it is a
 * `PermanentError`. A row may come more than once, always with the same id.
 */
export abstract class OutboxPublisher {
  static {
    nameToken(this, '@postcommit/core/OutboxPublisher');
  }

  abstract publish(row: OutboxRow, context: PublishContext): Promise<void>;

  /**
   * Optional, for brokers that take many messages at once: used instead of `publish`, with all rows of a batch that
   * may go out now. Give one result for each row, in their order; throwing fails them all.
   *
   * Rows of one key come in order. Once one of them failed, don't send those behind it: they are published again
   * after it, whatever you report for them.
   */
  publishBatch?(rows: readonly OutboxRow[], context: PublishBatchContext): Promise<readonly PublishResult[]>;
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
    // What the function resolves to means nothing here, so the promise is handed on as it is.
    this.publish = publish as (row: OutboxRow, context: PublishContext) => Promise<void>;
  }
}

import { setMaxListeners } from 'node:events';
import type { OutboxRow } from '../message/outbox-row.js';
import type { PublishContext } from '../message/publish-context.js';
import { intercept, type PublishLayer, type PublishStep } from '../observe/interceptors.js';
import { GroupBarrier } from './group-barrier.js';
import type { OutboxPublisher, PublishResult } from './outbox-publisher.js';

/** Publishes rows in one call and returns a result for each. If it rejects, all of them have failed. */
export type PublishGroup = (
  publisher: OutboxPublisher,
  rows: readonly OutboxRow[],
  context: PublishContext,
) => Promise<readonly PublishResult[]>;

/** Returns `publisher.publish` wrapped in these layers. */
export function publishThrough(layers: readonly PublishLayer[], publisher: OutboxPublisher): PublishStep {
  const publish = intercept(layers, (row, context) => publisher.publish(row, context));
  return (row, context) => publish(row, contextOf(row, context));
}

/** Returns `publishBatch` with these layers around each row. */
export function publishGroupThrough(layers: readonly PublishLayer[]): PublishGroup {
  const publish = layers.length === 0 ? send : sendThrough(layers);
  return (publisher, rows, context) => {
    // One signal serves all rows of the group, so a listener for each row is not a leak.
    setMaxListeners(0, context.signal);
    return publish(publisher, rows, context);
  };
}

function sendThrough(layers: readonly PublishLayer[]): PublishGroup {
  return async (publisher, rows, context) => {
    const barrier = new GroupBarrier(rows);
    const results = rows.map(async (row, index) => {
      const step = intercept(layers, (final) => barrier.reach(index, final));
      const result = await resultOf(() => step(row, contextOf(row, context)));
      barrier.leave(index, result);
      return result;
    });
    await barrier.sendWith((reached) => {
      context.signal.throwIfAborted();
      return send(publisher, reached, context);
    });
    return Promise.all(results);
  };
}

/** Own properties only, so that an interceptor can pass on `{ ...context, attempt: 9 }`. */
function contextOf(row: OutboxRow, context: Pick<PublishContext, 'signal'>): PublishContext {
  return {
    attempt: row.attempts + 1,
    get signal() {
      return context.signal;
    },
  };
}

async function send(
  publisher: OutboxPublisher,
  rows: readonly OutboxRow[],
  context: PublishContext,
): Promise<readonly PublishResult[]> {
  const results = await publisher.publishBatch?.(rows, context);
  if (Array.isArray(results) && results.length === rows.length && Array.from(results).every(isResult))
    return results;
  throw new TypeError(
    `publishBatch must return { status: 'fulfilled' } or { status: 'rejected', reason } for each of its ${rows.length} rows, in their order`,
  );
}

function isResult(result: unknown): result is PublishResult {
  const status = (result as PublishResult | undefined)?.status;
  return status === 'fulfilled' || status === 'rejected';
}

async function resultOf(publish: () => Promise<void>): Promise<PublishResult> {
  try {
    await publish();
    return { status: 'fulfilled' };
  } catch (reason) {
    return { status: 'rejected', reason };
  }
}

import { type OutboxInterceptor } from './interceptors.js';
import type { OutboxPublisher, PublishContext, PublishResult } from './outbox-publisher.js';
import type { OutboxRow } from './outbox-row.js';
/** Publishes rows in one call and gives a result for each. Throwing fails them all. */
export type PublishGroup = (publisher: OutboxPublisher, rows: readonly OutboxRow[], context: PublishContext) => Promise<readonly PublishResult[]>;
/** `publishBatch`, with the interceptors of `publish` around each of its rows. */
export declare function publishGroupWith(interceptors: readonly OutboxInterceptor[]): PublishGroup;
/** Own properties only, so that an interceptor can hand on `{ ...context, attempt: 9 }`. */
export declare function contextOf(row: OutboxRow, context: Pick<PublishContext, 'signal'>): PublishContext;

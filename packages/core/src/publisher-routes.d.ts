import { Pool } from './modules/pool.js';
import { OutboxPublisher, type PublishContext, type PublishFunction } from './outbox-publisher.js';
import type { OutboxRow } from './outbox-row.js';
/** Rows that belong to a publisher of their own. */
export interface OutboxRoute {
    readonly name: string;
    matches(row: OutboxRow): boolean;
    readonly publisher: OutboxPublisher;
}
/** Routes that modules contribute: asked before the application's publisher, so that it never sees their rows. */
export declare class OutboxRoutes extends Pool<OutboxRoute> {
}
/** Sends each row to the first route that matches. */
export declare class RoutedPublisher extends OutboxPublisher {
    #private;
    constructor(routes: Iterable<OutboxRoute>);
    /** Who publishes this row; undefined where no route matches. */
    publisherOf(row: OutboxRow): OutboxPublisher | undefined;
    publish(row: OutboxRow, context: PublishContext): Promise<void>;
}
/** Who publishes a row in the end, so that rows of one route can go out in one call. */
export declare function finalPublisher(publisher: OutboxPublisher, row: OutboxRow): OutboxPublisher;
/**
 * Chooses a publisher by topic. In a pattern `*` stands for any characters; the first match wins, and a row
 * that matches none is dead at once.
 *
 * @example
 * routePublisher({ 'payments.*': kafka, '*': (row) => webhook.send(row) })
 */
export declare function routePublisher(routes: Readonly<Record<string, OutboxPublisher | PublishFunction>>): OutboxPublisher;

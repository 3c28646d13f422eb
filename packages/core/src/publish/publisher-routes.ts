import { OutboxError, PermanentError } from '../message/errors.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { PublishContext } from '../message/publish-context.js';
import { topicMatcher } from '../message/topic-pattern.js';
import { Contributions } from '../modules/contributions.js';
import { nameToken } from '../modules/token.js';
import { OutboxPublisher, type PublishFunction, toPublisher } from './outbox-publisher.js';

/** Sends matching rows to their own publisher. */
export interface OutboxRoute {
  readonly name: string;
  matches(row: OutboxRow): boolean;
  readonly publisher: OutboxPublisher;
}

/** Routes that modules contribute. They come before the application's publisher, which never sees their rows. */
export class OutboxRoutes extends Contributions<OutboxRoute> {
  static {
    nameToken(this, '@postcommit/core/OutboxRoutes');
  }
}

/** Sends each row to the first route that matches. */
export class RoutedPublisher extends OutboxPublisher {
  readonly routes: readonly OutboxRoute[];

  constructor(routes: Iterable<OutboxRoute>) {
    super();
    this.routes = [...routes];
  }

  /** Returns the route of this row; undefined if none matches. */
  routeOf(row: OutboxRow): OutboxRoute | undefined {
    return this.routes.find((route) => route.matches(row));
  }

  async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    const publisher = this.routeOf(row)?.publisher;
    if (!publisher) {
      const names = this.routes.map(({ name }) => name).join(', ');
      throw new PermanentError(`no route for topic '${row.topic}'; the routes are: ${names}`);
    }
    await publisher.publish(row, context);
  }
}

/** The publisher that a row ends up with, and the name of its route. */
export interface FinalPublisher {
  readonly publisher: OutboxPublisher;
  readonly name: string;
}

/** Follows nested routes to the publisher of a row, so that rows of one route can share a call. */
export function finalPublisher(
  publisher: OutboxPublisher,
  row: OutboxRow,
  name = 'publisher',
): FinalPublisher {
  const route = publisher instanceof RoutedPublisher ? publisher.routeOf(row) : undefined;
  return route ? finalPublisher(route.publisher, row, route.name) : { publisher, name };
}

/** Every publisher that rows may end up with, each with the name of its route. */
export function finalPublishers(publisher: OutboxPublisher, name = 'publisher'): FinalPublisher[] {
  if (!(publisher instanceof RoutedPublisher)) return [{ publisher, name: publisher.name ?? name }];
  return publisher.routes.flatMap((route) => finalPublishers(route.publisher, route.name));
}

/**
 * Chooses a publisher by topic. In a pattern, `*` matches any number of characters. The first match wins; a row that
 * matches no pattern is dead at once.
 *
 * @throws `INVALID_CONFIG` without routes or for an empty pattern.
 *
 * @example
 * routePublisher({ 'payments.*': kafka, '*': (row) => webhook.send(row) })
 */
export function routePublisher(
  routes: Readonly<Record<string, OutboxPublisher | PublishFunction>>,
): OutboxPublisher {
  const list = Object.entries(routes).map(([pattern, publisher]) => toRoute(pattern, publisher));
  if (list.length === 0) throw new OutboxError('INVALID_CONFIG', 'routePublisher: no route given');
  return new RoutedPublisher(list);
}

function toRoute(pattern: string, publisher: OutboxPublisher | PublishFunction): OutboxRoute {
  if (pattern === '')
    throw new OutboxError('INVALID_CONFIG', "routePublisher: an empty pattern matches nothing; use '*'");
  const matches = topicMatcher(pattern);
  return { name: pattern, matches: ({ topic }) => matches(topic), publisher: toPublisher(publisher) };
}

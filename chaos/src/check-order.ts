import type { History } from './history.js';
import type { Moment, PublishRecord } from './ledger.js';

/**
 * I5: if the enqueue of `a` committed before that of `b` began, and both have the same key, `a` is first published
 * before `b`, unless `a` is dead. Within one transaction it is the order of the enqueue. A commit whose answer nobody got has no known end: it overlaps all that follows.
 */
export function ordersOutOfOrder(history: History, published: readonly (PublishRecord & Moment)[]): string[] {
  const intents = new Map(history.intents.map((intent) => [intent.orderId, intent]));
  const committed = new Map(history.commits.map(({ orderId, moment }) => [orderId, moment]));
  const dead = new Set(history.rows.flatMap(({ state, orderId }) => (state === 'dead' ? [orderId] : [])));
  const latestBegin = new Map<string, number>();
  const latestOfTransaction = new Map<string, number>();
  const seen = new Set<string>();
  const late: string[] = [];
  for (const { orderId } of published) {
    // Of the producer, not of the row: whoever lost the key on the way has no excuse.
    const { key = null, transaction = '', moment: began = 0 } = intents.get(orderId) ?? {};
    if (key === null || seen.has(orderId)) continue;
    seen.add(orderId);
    const own = `${transaction} ${key}`;
    const latestOfOwn = latestOfTransaction.get(own) ?? 0;
    const latest = latestBegin.get(key) ?? Number.NEGATIVE_INFINITY;
    const ended = committed.get(orderId) ?? Number.POSITIVE_INFINITY;
    // Something that began after this one's end has been published already.
    if ((ended < latest || began < latestOfOwn) && !dead.has(orderId)) late.push(orderId);
    latestBegin.set(key, Math.max(latest, began));
    latestOfTransaction.set(own, Math.max(latestOfOwn, began));
  }
  return late;
}

import type { OutboxRow, TransactionalOutboxStore } from '@postcommit/core';
import type { Ledger } from '../ledger.js';
import type { ChildConfig } from '../messages.js';
import type { Reach } from '../producer.js';

/**
 * Tells the ledger of every claim and every settle, and stops at the points beside them. The store itself is the one
 * that users have: its methods are wrapped, not replaced.
 */
export function watchStore(
  store: TransactionalOutboxStore<never>,
  { name, defect }: ChildConfig,
  ledger: Ledger,
  reach: Reach,
): void {
  const fetchPending = store.fetchPending.bind(store);
  const settle = store.settle.bind(store);
  store.fetchPending = async (limit, options) => {
    await reach('before the claim');
    const rows = await fetchPending(limit, options);
    if (rows.length === 0) return rows;
    await ledger.claimed(
      rows.map(({ id, claimToken = '', retakes }) => ({
        rowId: id,
        token: claimToken,
        process: name,
        retakes,
      })),
    );
    await reach('after the claim');
    if (defect === 'settles before it publishes') await settle(rows[0]?.claimToken, rows.map(dispatched));
    return defect === 'overtakes' ? rows.toReversed().map(withoutKey) : rows;
  };
  store.settle = async (token, outcomes) => {
    await reach('after the publish, before the ack');
    const ids = await settle(token, outcomes);
    await reach('after the ack');
    await ledger.settled(ids.map((rowId) => ({ rowId, token: token ?? '', process: name })));
    return ids;
  };
}

function dispatched({ id }: OutboxRow): { id: string; kind: 'dispatched' } {
  return { id, kind: 'dispatched' };
}

/** Rows of one key that pass for strangers are published in the order they stand. */
function withoutKey({ key: _, ...row }: OutboxRow): OutboxRow {
  return row as OutboxRow;
}

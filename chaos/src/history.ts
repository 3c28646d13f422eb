import type {
  ClaimRecord,
  Commit,
  FaultRecord,
  Intent,
  Ledger,
  Moment,
  Operation,
  PublishRecord,
  SettleRecord,
} from './ledger.js';

export interface OutboxRecord {
  readonly id: string;
  /** The order that its payload names; null where somebody destroyed the payload. */
  readonly orderId: string | null;
  readonly state: 'pending' | 'dispatched' | 'dead';
  readonly reason: string | null;
  readonly attempts: number;
}

/** All that a run left behind: the tables under test, and the ledger beside them. */
export interface History {
  /** The ids of the orders in the business table: the only truth about what was committed. */
  readonly orders: ReadonlySet<string>;
  readonly rows: readonly OutboxRecord[];
  readonly intents: readonly (Intent & Moment)[];
  readonly commits: readonly (Commit & Moment)[];
  readonly claims: readonly (ClaimRecord & Moment)[];
  readonly settles: readonly (SettleRecord & Moment)[];
  readonly publishes: readonly (PublishRecord & Moment)[];
  readonly operations: readonly (Operation & Moment)[];
  readonly faults: readonly FaultRecord[];
}

type Query = <T extends object>(text: string) => Promise<T[]>;

export async function readHistory(business: Query, ledger: Ledger): Promise<History> {
  const orders = await business<{ id: string }>('select id from orders');
  const rows = await business<OutboxRecord>(`
    select id, payload->>'order' as "orderId", dead_reason as reason, attempts,
      case when dead_at is not null then 'dead' when dispatched_at is not null then 'dispatched' else 'pending' end as state
    from outbox order by seq`);
  const inOrder = async <T extends Moment>(table: string): Promise<T[]> =>
    (await ledger.read<T>(table)).sort((a, b) => a.moment - b.moment);
  return {
    orders: new Set(orders.map(({ id }) => id)),
    rows,
    intents: await inOrder('intents'),
    commits: await inOrder('commits'),
    claims: await inOrder('claims'),
    settles: await inOrder('settles'),
    publishes: await inOrder('publishes'),
    operations: await inOrder('operations'),
    faults: await ledger.read('faults'),
  };
}

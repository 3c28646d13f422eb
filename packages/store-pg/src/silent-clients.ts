import { endsWithin, systemClock } from '@postcommit/core/internal';
import type { PgPoolLike } from './pg-client-like.js';
import { PooledClient } from './pooled-client.js';

/** How long an idle connection has to answer. */
const ANSWER_MS = 1_000;

const underWay = new WeakSet<PgPoolLike>();

/**
 * A connection seldom turns silent alone, and each further one would cost the limit of a statement. So all that are idle
 * now are asked at once, and those that don't answer are closed. Never rejects.
 */
export function replaceSilentClients(pool: PgPoolLike): void {
  if (underWay.has(pool)) return;
  underWay.add(pool);
  const asked = Array.from({ length: pool.idleCount ?? 0 }, () => ask(pool));
  void Promise.allSettled(asked).then(() => underWay.delete(pool));
}

async function ask(pool: PgPoolLike): Promise<void> {
  const pooled = await PooledClient.checkOut(pool);
  const answers = await endsWithin(ANSWER_MS, pooled.client.query('select 1'), systemClock).catch(
    () => false,
  );
  if (answers) pooled.release();
  else pooled.discard();
}

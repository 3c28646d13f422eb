import type { Clock } from '@postcommit/core';
import { endsWithin } from '@postcommit/core/internal';

/** Waits until `work` settles, but no longer than `limitMs`. Never rejects. */
export async function atMost(limitMs: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  await endsWithin(
    limitMs,
    work.catch(() => {}),
    clock,
  );
}

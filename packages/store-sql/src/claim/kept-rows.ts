import type { Claim } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';

/** Returns the rows of a window whose topics are not left out. Its statement reads `topic` if there are `exceptTopics`. */
export function keptOf(window: readonly SqlRecord[], claim: Claim): readonly SqlRecord[] {
  return claim.exceptTopics ? window.filter((row) => isKept(row, claim)) : window;
}

export function isKept({ topic }: SqlRecord, { exceptTopics }: Claim): boolean {
  return exceptTopics?.includes(String(topic)) !== true;
}

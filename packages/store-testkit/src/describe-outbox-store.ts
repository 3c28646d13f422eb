import { afterEach, beforeEach, describe, it } from 'vitest';
import { behaviourGroups } from './behaviour-groups.js';
import type { OutboxFixture, StoreHarness } from './store-harness.js';

/**
 * Registers a vitest test for each behaviour that a store must have.
 *
 * @example
 * describeOutboxStore('PgOutboxStore', { open: () => openPgOutbox(url) });
 */
export function describeOutboxStore<Tx>(name: string, harness: StoreHarness<Tx>): void {
  const skipped = new Map(harness.skip?.map((skip) => [skip.name, skip.reason]));
  describe(name, () => {
    let outbox: OutboxFixture<Tx>;
    beforeEach(async () => {
      outbox = await harness.open();
    });
    afterEach(() => outbox.close());

    for (const group of behaviourGroups) {
      describe(group.name, () => {
        for (const [sentence, behaviour] of Object.entries(group.behaviours)) {
          const reason = skipped.get(sentence) ?? skipped.get(group.name);
          it(sentence, async (context) => {
            if (reason !== undefined) context.skip(reason);
            // A behaviour passes a transaction only to the store that it came from.
            await behaviour(outbox as OutboxFixture);
          });
        }
      });
    }
  });
}

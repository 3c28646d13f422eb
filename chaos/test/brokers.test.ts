import { hasNatsServer } from '@internal/test-brokers/nats';
import { createTestDatabase } from '@internal/test-database/test-database';
import { expect, it } from 'vitest';
import { natsTarget } from '../src/brokers/nats-target.js';
import { runUnderHits } from '../src/brokers/run-under-hits.js';

// The others take a minute to start and kill: `npm run chaos -- --brokers` does it to all of them, with more rows.
it('a broker that is killed under load gets every committed row, in order', {
  timeout: 180_000,
}, async ({ skip }) => {
  skip(!hasNatsServer(), 'no NATS to run on');
  const target = await natsTarget();
  const database = await createTestDatabase();
  const result = await runUnderHits(target, { rows: 2_000, hits: 2, databaseUrl: database.url });
  await target.close();
  await database.drop();
  expect(result).toMatchObject({ lost: [], phantoms: [], outOfOrder: [], unfinished: 0 });
  expect(result.received).toBeGreaterThanOrEqual(2_000);
});

import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Arena } from '../src/arena.js';
import { linesOf, table } from '../src/report.js';
import { runScenario, type Scenario, type ScenarioResult } from '../src/scenario.js';
import { scenarios } from '../src/scenarios/all.js';
import { Servers } from '../src/servers.js';

/** Only for what hangs. */
const PATIENCE_MS = 300_000;
/** The same faults in every run of the tests; `pnpm chaos` draws others. */
const SEED = 20_260_101;

let servers: Servers;
const results: ScenarioResult[] = [];

beforeAll(async () => {
  servers = await Servers.start();
}, PATIENCE_MS);

afterAll(async () => {
  await servers.stop();
  process.stdout.write(`${table(linesOf(results))}\n`);
});

describe.concurrent('the guarantees hold through', { timeout: PATIENCE_MS }, () => {
  for (const scenario of scenarios.filter(({ longOnly }) => !longOnly)) {
    it(`${scenario.group}: ${scenario.name}`, async ({ expect }) => {
      const result = await runScenario(scenario, servers, 'short', SEED);
      results.push(result);
      expect(result.broken).toEqual([]);
    });
  }
});

/** The whole machinery, on something that is known to be broken: a run in which nothing is found proves nothing else. */
describe.concurrent('a run reports', { timeout: PATIENCE_MS }, () => {
  function runOf(run: (arena: Arena) => Promise<void>): Promise<ScenarioResult> {
    const scenario: Scenario = { group: 'a random mix', name: 'broken on purpose', run };
    return runScenario(scenario, servers, 'short', SEED);
  }

  it('messages lost by a worker that settles before it publishes and is killed', async ({ expect }) => {
    const result = await runOf(async (arena) => {
      await arena.produce(5);
      const worker = await arena.start({
        defect: 'settles before it publishes',
        stopAt: 'in the publish, before its effect',
      });
      await worker.stopsAtPoint();
      await arena.kill(worker);
      await arena.drained();
    });
    expect(result).toMatchObject({ messages: 5, lost: 5 });
  });

  it('phantoms from a producer that enqueues outside its transaction', async ({ expect }) => {
    const result = await runOf(async (arena) => {
      const subject = arena.subject(arena.url);
      const rolledBack = arena.producer('careless', {
        ...subject,
        transaction: (store, work) =>
          subject.transaction(store, async (tx) => {
            await work({ ...tx, enqueue: (entries) => store.enqueue(entries) });
            throw new Error('the business changed its mind');
          }),
      });
      await rolledBack.produce({ id: 'never happened' });
      await arena.start();
      await arena.drained();
    });
    expect(result).toMatchObject({ messages: 0, phantom: 1 });
  });

  it('messages out of order from a worker that ignores their key', async ({ expect }) => {
    const result = await runOf(async (arena) => {
      await arena.produce(5, ['k']);
      await arena.start({ defect: 'overtakes' });
      await arena.drained();
    });
    expect(result).toMatchObject({ lost: 0, outOfOrder: 4 });
  });

  it('two owners of a key, and a row that nobody claims', async ({ expect }) => {
    const result = await runOf(async (arena) => {
      await arena.produce(2, ['k']);
      await arena.query(
        `update outbox set claim_token = id, claimed_key = key, claimed_at = now(), claimed_until = now() + interval '1 day'`,
      );
      await arena.until('the watch has looked', async () => arena.hasTwoOwners);
    });
    expect(result.broken).toEqual([
      expect.stringMatching(/^I2: .*: 2/),
      expect.stringMatching(/^I4: two owners of the key k/),
    ]);
  });
});

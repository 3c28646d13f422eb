import { beforeAll, describe, expect, it } from 'vitest';
import { type InnerResult, type InnerRun, listTests, runTests } from './newer-node.js';

/** The tests wait for time-outs of a broker, on a machine that may be busy. */
const PATIENCE_MS = 600_000;

// The client needs Node 22.22, and the tests of the repository may run on an older one.
const names = await listTests();

if (typeof names === 'string') it.skip(`kafkaPublisher under Node 22.22 or newer: ${names}`, () => {});
else describe('under Node 22.22 or newer', () => describeInner(names));

function describeInner(listed: readonly string[]): void {
  let run: InnerRun;
  let results: Map<string, InnerResult>;

  beforeAll(async () => {
    run = await runTests();
    results = new Map(run.tests.map((test) => [test.name, test]));
  }, PATIENCE_MS);

  it('every test has run, and nothing failed outside of them', () => {
    expect(run.outside).toEqual([]);
    expect(run.tests.map(({ name }) => name).sort()).toEqual([...listed].sort());
    expect(listed.length).toBeGreaterThan(0);
  });

  for (const name of listed)
    it(name, ({ skip }) => {
      const result = results.get(name);
      skip(result?.state === 'skipped', result?.note);
      expect(result).toMatchObject({ state: 'passed', errors: [] });
    });
}

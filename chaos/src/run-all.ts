import type { Form } from './arena.js';
import { runScenario, type Scenario, type ScenarioResult } from './scenario.js';
import type { Servers } from './servers.js';

export interface RunOptions {
  readonly form: Form;
  readonly rounds: number;
  readonly minutes: number | undefined;
  readonly seed: number;
  readonly atOnce: number;
  readonly onResult: (result: ScenarioResult) => void;
}

/** Runs all of them, so many side by side, round after round. Each round has a seed of its own, the first the given. */
export async function runAll(
  scenarios: readonly Scenario[],
  servers: Servers,
  options: RunOptions,
): Promise<ScenarioResult[]> {
  const { form, rounds, minutes, seed, atOnce, onResult } = options;
  const deadline = performance.now() + (minutes ?? 0) * 60_000;
  const results: ScenarioResult[] = [];
  let place = 0;
  const hasMore = (): boolean => {
    const round = Math.floor(place / scenarios.length);
    return round === 0 || (minutes === undefined ? round < rounds : performance.now() < deadline);
  };
  const lane = async (): Promise<void> => {
    while (hasMore()) {
      const scenario = scenarios[place % scenarios.length] as Scenario;
      const round = Math.floor(place / scenarios.length);
      place += 1;
      const result = await runScenario(scenario, servers, form, seed + round);
      results.push(result);
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return results.sort((a, b) => scenarios.indexOf(a.scenario) - scenarios.indexOf(b.scenario));
}

import { inspect } from 'node:util';
import { Arena, type Form } from './arena.js';
import type { Rules } from './check.js';
import type { Servers } from './servers.js';
import type { StoreName } from './subject.js';

export const GROUPS = [
  'killed and stopped processes',
  'the server',
  'the wire',
  'the publisher',
  'the clock',
  'the data',
  'roll-out',
  'a random mix',
] as const;

export interface Scenario {
  readonly group: (typeof GROUPS)[number];
  /** What goes wrong, as the report has it. */
  readonly name: string;
  readonly rules?: Rules;
  /** Default `pg`. */
  readonly store?: StoreName;
  /** Gives it a server of its own: it is going to be harmed. */
  readonly serverSettings?: Record<string, string>;
  /** It creates the tables itself. */
  readonly withoutTables?: true;
  /** Too slow for every change: only in the long form. */
  readonly longOnly?: true;
  run(arena: Arena): Promise<void>;
}

export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly messages: number;
  readonly lost: number;
  readonly phantom: number;
  readonly outOfOrder: number;
  readonly duplicates: number;
  readonly recoveryMs: number | undefined;
  readonly broken: readonly string[];
}

export async function runScenario(
  scenario: Scenario,
  servers: Servers,
  form: Form,
  seed: number,
): Promise<ScenarioResult> {
  const arena = await Arena.open(servers, {
    form,
    seed,
    store: scenario.store ?? 'pg',
    hasTables: scenario.withoutTables !== true,
    ...(scenario.serverSettings && { serverSettings: scenario.serverSettings }),
  });
  try {
    arena.rules = scenario.rules ?? {};
    const failure = await scenario.run(arena).then(
      () => [],
      (error: Error) => [`it did not come to its end: ${inspect(error)}`],
    );
    const verdict = await arena.judge();
    return {
      scenario,
      ...verdict,
      recoveryMs: arena.recoveryMs,
      broken: [...failure, ...verdict.broken],
    };
  } finally {
    await arena.close();
  }
}

/**
 * Faults on real processes: `npm run chaos`, or `pnpm chaos`; `--help` lists its options.
 *
 * - `scenarios/` is what goes wrong, one file for each group. A scenario is data and a `run` on an `Arena`: two fresh
 *   databases, real processes, faults. It stops processes at named points by IPC (`child/points.ts`), never by a sleep.
 * - `ledger.ts` is the second database: what producers meant and saw, every claim, settle and publish, every fault.
 * - `check.ts` reads both databases against the promises afterwards. `check.test.ts` proves that it sees what is wrong.
 */
import { writeFile } from 'node:fs/promises';
import { inspect } from 'node:util';
import { BadArgument, readArguments, USAGE } from './arguments.js';
import { runBrokers } from './brokers/run-brokers.js';
import { linesOf, page, table } from './report.js';
import { runAll } from './run-all.js';
import type { ScenarioResult } from './scenario.js';
import { scenarios } from './scenarios/all.js';
import { Servers } from './servers.js';

const PAGE = new URL('../../docs/operations/faults.md', import.meta.url);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function tellResult({ scenario, broken }: ScenarioResult): void {
  say(`${broken.length === 0 ? 'held  ' : 'BROKEN'} ${scenario.group}: ${scenario.name}`);
  for (const problem of broken) say(`       ${problem.replaceAll('\n', '\n       ')}`);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

async function main(args: readonly string[]): Promise<number> {
  const { only, help, brokers, ...options } = readArguments(args);
  if (help) {
    say(USAGE);
    return 0;
  }
  if (brokers) return runBrokers({ ...brokers, only, say });
  const offered = scenarios.filter(({ longOnly }) => !(longOnly && options.form === 'short'));
  const chosen = offered.filter(({ group, name }) =>
    only.every((word) => `${group} ${name}`.toLowerCase().includes(word)),
  );
  if (chosen.length === 0) throw new BadArgument(`no fault has all of these words: ${only.join(' ')}`);
  say(`${chosen.length} scenarios, ${options.atOnce} at once, --seed ${options.seed}`);
  const servers = await Servers.start();
  try {
    const results = await runAll(chosen, servers, { ...options, onResult: tellResult });
    say(`\n${table(linesOf(results))}`);
    const broken = results.filter((result) => result.broken.length > 0);
    say(`\n${results.length} runs, ${broken.length} with a broken promise, --seed ${options.seed}`);
    if (options.form === 'long' && only.length === 0) await writeFile(PAGE, page(results));
    return broken.length > 0 ? 1 : 0;
  } finally {
    await servers.stop();
  }
}

function explain(error: unknown): number {
  const isBad = error instanceof BadArgument;
  process.stderr.write(isBad ? `${error.message}\n\n${USAGE}\n` : `${inspect(error)}\n`);
  return isBad ? 2 : 1;
}

// All work is awaited by then; a socket that the faults left half open must not keep the command from ending.
process.exit(await main(process.argv.slice(2)).catch(explain));

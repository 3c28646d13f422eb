/**
 * Faults on real processes: `npm run chaos`, or `pnpm chaos`. Takes `--rounds 2` or `--minutes 30`, `--seed 7`, `--only 'sigkill ack'`,
 * `--short` (as CI runs it) and `--at-once 4`. Exits 1 when a promise did not hold. A whole long run writes
 * docs/operations/faults.md.
 *
 * - `scenarios/` is what goes wrong, one file for each group. A scenario is data and a `run` on an `Arena`: two fresh
 *   databases, real processes, faults. It stops processes at named points by IPC (`child/points.ts`), never by a sleep.
 * - `ledger.ts` is the second database: what producers meant and saw, every claim, settle and publish, every fault.
 * - `check.ts` reads both databases against the promises afterwards. `check.test.ts` proves that it sees what is wrong.
 */
import { writeFile } from 'node:fs/promises';
import { readArguments } from './arguments.js';
import { linesOf, page, table } from './report.js';
import { runAll } from './run-all.js';
import type { ScenarioResult } from './scenario.js';
import { scenarios } from './scenarios/all.js';
import { Servers } from './servers.js';

const PAGE = new URL('../../../docs/operations/faults.md', import.meta.url);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function tellResult({ scenario, broken }: ScenarioResult): void {
  say(`${broken.length === 0 ? 'held  ' : 'BROKEN'} ${scenario.group}: ${scenario.name}`);
  for (const problem of broken) say(`       ${problem.replaceAll('\n', '\n       ')}`);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const { only, ...options } = readArguments(process.argv.slice(2));
const chosen = scenarios.filter(
  ({ group, name, longOnly }) =>
    only.every((word) => `${group} ${name}`.toLowerCase().includes(word)) &&
    !(longOnly && options.form === 'short'),
);
if (chosen.length === 0) throw new Error(`no scenario has these words: ${only.join(' ')}`);
say(`${chosen.length} scenarios, ${options.atOnce} at once, --seed ${options.seed}`);
const servers = await Servers.start();
try {
  const results = await runAll(chosen, servers, { ...options, onResult: tellResult });
  say(`\n${table(linesOf(results))}`);
  const broken = results.filter((result) => result.broken.length > 0);
  say(`\n${results.length} runs, ${broken.length} with a broken promise, --seed ${options.seed}`);
  if (broken.length > 0) process.exitCode = 1;
  if (options.form === 'long' && only.length === 0) await writeFile(PAGE, page(results));
} finally {
  await servers.stop();
}
// All work is awaited by now; a socket that the faults left half open must not keep the command from ending.
process.exit();

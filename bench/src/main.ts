import { atEnd, end, endOnSignals } from './at-end.js';
import { checkGates, type Gate } from './gates.js';
import { BadOption, parseOptions, USAGE } from './options.js';
import { startServer } from './place.js';
import { readResults, writeJson, writePage } from './report/files.js';
import type { Results } from './report/results.js';
import { measureAll, plan } from './run.js';
import { FAILED } from './trials.js';

/** 0: done. 1: a statement count is not what it must be, or a trial failed. 2: a bad flag. Ratios never decide. */
async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  if (options.from !== undefined) {
    writePage(readResults(options.from));
    return 0;
  }
  const run = await plan(options);
  process.stderr.write(`${run.describe()}\n`);
  const server = await startServer(options.walLevel);
  atEnd(() => server.stop());
  const gates = await checkGates(server);
  for (const gate of gates) console.log(gateText(gate));
  const results = await measureAll(server, run, options, args, (known) => {
    if (options.json !== undefined) writeJson(options.json, known);
  });
  if (options.page) writePage(results);
  const isExact = gates.every(({ found, wanted }) => found === wanted);
  return isExact && !hasFailed(results) ? 0 : 1;
}

function hasFailed({ cases }: Results): boolean {
  const cells = cases.flatMap(({ lines }) => lines.flatMap((line) => Object.values(line.cells)));
  return cells.some((cell) => typeof cell === 'string' && cell.startsWith(FAILED));
}

function gateText({ name, wanted, found }: Gate): string {
  const verdict = found === wanted ? 'holds' : 'FAILED';
  return `${verdict}: ${name} sends ${found} ${found === 1 ? 'statement' : 'statements'} (must be ${wanted})`;
}

endOnSignals();
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = error instanceof BadOption ? 2 : 1;
  console.error(error instanceof BadOption ? `${error.message}\n\n${USAGE}` : error);
} finally {
  await end();
}

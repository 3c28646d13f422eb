import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { cases, type Target } from './cases.js';
import { median } from './measure.js';
import { startServer } from './place.js';

const { values: options } = parseArgs({
  options: {
    case: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    scale: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
});
const scale = Number(options.scale);
const sizes = {
  drainRows: Math.round(100_000 * scale),
  bulkRows: Math.round(10_000 * scale),
  enqueues: Math.round(3_000 * scale),
  dispatchedRows: Math.round(5_000_000 * scale),
  memoryRows: Math.round(1_000_000 * scale),
  laterRows: Math.round(1_000_000 * scale),
};

/** Small figures with a decimal. */
function figure(value: number): string {
  return value < 100 ? value.toFixed(1) : String(Math.round(value));
}

function verdict({ of, to, atLeast, atMost }: Target, medians: ReadonlyMap<string, number>): string {
  const base = typeof to === 'number' ? to : (medians.get(to) ?? Number.NaN);
  const ratio = (medians.get(of) ?? Number.NaN) / base;
  const holds = ratio >= (atLeast ?? 0) && ratio <= (atMost ?? Number.POSITIVE_INFINITY);
  const wanted = atLeast === undefined ? `at most ${atMost?.toFixed(2)}` : atLeast.toFixed(2);
  return `${holds ? 'holds' : 'MISSED'}: ${of} is ${ratio.toFixed(2)} of ${to} (wanted ${wanted})`;
}

const server = await startServer();
const report: unknown[] = [];
try {
  for (const one of cases(sizes).filter(({ name }) => name.includes(options.case))) {
    process.stderr.write(`${one.name}\n`);
    const results = await one.run(server, Number(options.rounds));
    const medians = new Map(results.map(({ name, rates }) => [name, median(rates)]));
    console.log(`\n## ${one.name}\n\n| | ${one.unit}, median (min–max) |\n| --- | --- |`);
    for (const { name, rates } of results) {
      const [middle, low, high] = [median(rates), Math.min(...rates), Math.max(...rates)].map(figure);
      console.log(`| ${name} | ${middle} (${low}–${high}) |`);
    }
    for (const target of one.targets) console.log(`\n${verdict(target, medians)}`);
    report.push({ case: one.name, unit: one.unit, results });
  }
} finally {
  await server.stop();
}
if (options.json) writeFileSync(options.json, JSON.stringify(report, null, 2));

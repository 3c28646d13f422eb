import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { cases } from './cases.js';
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
};

const server = await startServer();
const report: unknown[] = [];
try {
  for (const one of cases(sizes).filter(({ name }) => name.includes(options.case))) {
    process.stderr.write(`${one.name}\n`);
    const results = await one.run(server, Number(options.rounds));
    const medians = new Map(results.map(({ name, rates }) => [name, median(rates)]));
    console.log(`\n## ${one.name}\n\n| | ${one.unit}, median (min–max) |\n| --- | --- |`);
    for (const { name, rates } of results) {
      const [low, high] = [Math.min(...rates), Math.max(...rates)].map(Math.round);
      console.log(`| ${name} | ${Math.round(median(rates))} (${low}–${high}) |`);
    }
    for (const { of, to, atLeast } of one.targets) {
      const ratio = (medians.get(of) ?? Number.NaN) / (medians.get(to) ?? Number.NaN);
      console.log(
        `\n${ratio >= atLeast ? 'holds' : 'MISSED'}: ${of} is ${ratio.toFixed(2)} of ${to} (wanted ${atLeast.toFixed(2)})`,
      );
    }
    report.push({ case: one.name, unit: one.unit, results });
  }
} finally {
  await server.stop();
}
if (options.json) writeFileSync(options.json, JSON.stringify(report, null, 2));

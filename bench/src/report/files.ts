import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BadOption } from '../options.js';
import { measuredPart, pageWith } from './page.js';
import { plot } from './plot.js';
import { joinedResults, type Results } from './results.js';
import { summary } from './summary.js';

const inRoot = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** The page, its plot, and the table of the README. */
export function writePage(results: Results): void {
  replaceMeasured(inRoot('docs/performance.md'), measuredPart(results));
  replaceMeasured(inRoot('README.md'), `${summary(results)}\n`);
  writeFileSync(inRoot('docs/performance.svg'), plot(results));
}

function replaceMeasured(file: string, measured: string): void {
  writeFileSync(file, pageWith(readFileSync(file, 'utf8'), measured));
}

export function writeJson(file: string, results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

/** Of several files, the cases of all. */
export function readResults(files: readonly [string, ...string[]]): Results {
  const [first, ...more] = files;
  return joinedResults([readOne(first), ...more.map(readOne)]);
}

function readOne(file: string): Results {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Results;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new BadOption(`--from: ${file} can't be read: ${why}`);
  }
}

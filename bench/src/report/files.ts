import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BadOption } from '../options.js';
import { pageWith } from './page.js';
import { plot } from './plot.js';
import { joinedResults, type Results } from './results.js';

const docs = (name: string): string => fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url));

export function writePage(results: Results): void {
  const page = docs('performance.md');
  writeFileSync(page, pageWith(readFileSync(page, 'utf8'), results));
  writeFileSync(docs('performance.svg'), plot(results));
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

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exampleNames, examplesFolder } from '../examples/example-readme.js';
import { blocksOf, pageNames } from './pages.js';

interface Source {
  readonly name: string;
  readonly code: string;
}

/** All code that a reader may copy. */
function sources(): Source[] {
  const blocks = pageNames()
    .flatMap(blocksOf)
    .map(({ page, line, code }) => ({ name: `${page}:${line}`, code }));
  return [...blocks, ...exampleNames().flatMap(sourcesOf)];
}

function sourcesOf(example: string): Source[] {
  const folder = join(examplesFolder, example, 'src');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ name: `${example}/${file}`, code: readFileSync(join(folder, file), 'utf8') }));
}

/** The calls of `fetch` in code that publishes: what else it requests is not a delivery. */
function deliveries({ name, code }: Source): { name: string; call: string }[] {
  if (!/errorFromResponse|\bpublish\b/.test(code)) return [];
  return [...code.matchAll(/\bfetch\([\s\S]*?\);/g)].map(([call]) => ({ name, call }));
}

it('every publisher that is shown refuses redirects: a POST that is redirected arrives as a GET without its body', () => {
  const shown = sources().flatMap(deliveries);
  expect(shown.length).toBeGreaterThanOrEqual(4);
  expect(shown.filter(({ call }) => !call.includes("redirect: 'manual'"))).toEqual([]);
});

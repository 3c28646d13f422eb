import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const files = [...readme.matchAll(/^```ts\n(\/\/ (\S+)\n[\s\S]*?)^```$/gm)].map(([, code, name]) => ({
  code,
  name,
}));

describe('the example of the README', () => {
  it('has all its files', () => {
    expect(files.map(({ name }) => name)).toEqual([
      'queue-publisher.test.ts',
      'queue-publisher.ts',
      'queue-harness.ts',
      'fake-queue.ts',
    ]);
  });

  it.each(files)('$name is the file that is tested', ({ name, code }) => {
    expect(code).toBe(readFileSync(new URL(`./example/${name}`, import.meta.url), 'utf8'));
  });
});

import { readFileSync } from 'node:fs';

/** Ends the program as Ctrl-C would, once it has published and waits for a signal. */
const BEFORE = `const published = [];
const print = console.log;
console.log = (...words) => {
  published.push(words);
  const timer = setInterval(() => {
    if (process.listenerCount('SIGINT') === 0) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGINT');
  }, 20);
};
`;

const TYPED_BEFORE = BEFORE.replace('published = []', 'published: unknown[][] = []').replace(
  '(...words)',
  '(...words: unknown[]): void',
);

const AFTER = `
const after = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const orders = await after.query('select status, id from orders');
const rows = await after.query('select topic, dispatched_at is not null as dispatched from outbox');
await after.end();
const isSame = JSON.stringify(published) === JSON.stringify([['published', 'order.paid', { id: orders.rows[0].id }]]);
print(JSON.stringify({ isSame, status: orders.rows[0].status, rows: rows.rows }));
`;

/** What each of the programs prints. */
export const PRINTED = {
  isSame: true,
  status: 'paid',
  rows: [{ topic: 'order.paid', dispatched: true }],
};

/** The first TypeScript block of the README, as a program, by file name. */
export function readmePrograms(): Record<string, string> {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const [, block = ''] = /```ts[^\n]*\n([\s\S]*?)```/.exec(readme) ?? [];
  const imports = (block.match(/^import .*;$/gm) ?? []).join('\n');
  if (imports === '') throw new Error('The first TypeScript block of README.md imports nothing.');
  const code = block.replace(/^import .*;\n/gm, '');
  const plainCode = code.replace(/\((\w+): [\w.]+\)/g, '($1)');
  const typed = TYPED_BEFORE + code + AFTER;
  const plain = BEFORE + plainCode + AFTER;
  // A CommonJS file has no await at its top.
  const inMain = (text: string): string => `async function main() {\n${text}}\nvoid main();\n`;
  return {
    'typed.mts': `${imports}\n${typed}`,
    'typed.cts': `${imports}\n${inMain(typed)}`,
    'plain.mjs': `${imports}\n${plain}`,
    'plain.cjs': `${imports.replace(/^import (.*) from (.*);$/gm, 'const $1 = require($2);')}\n${inMain(plain)}`,
  };
}

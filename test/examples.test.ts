import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import '@postcommit/tooling/test-database';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);
const examples = (await readdir(`${root}/examples`)).filter((name) => !name.startsWith('.'));

it.each(examples)('example %s runs and ends well', { timeout: 60_000 }, async (name) => {
  const cwd = `${root}/examples/${name}`;
  const env = { ...process.env, DATABASE_URL: inject('postgresUrl') };
  const { stdout } = await run(process.execPath, ['--import', 'tsx', 'src/main.ts'], { cwd, env });
  expect(stdout.trim()).not.toBe('');
});

it('the guide on idempotency shows what its example runs', () => {
  const source = readFileSync(`${root}/examples/idempotent-consumer/src/main.ts`, 'utf8');
  const [, code] = /\/\/ #region guide\n([\s\S]*?)\/\/ #endregion/.exec(source) ?? [];
  const [, block] =
    /```ts\n([\s\S]*?)```/.exec(readFileSync(`${root}/docs/guides/idempotency.md`, 'utf8')) ?? [];
  expect(block).toBe(code);
});

it('the README shows what the TypeORM example runs', () => {
  const source = readFileSync(`${root}/examples/orders-typeorm/src/main.ts`, 'utf8');
  const [, code] = /\/\/ #region readme\n([\s\S]*?)\/\/ #endregion/.exec(source) ?? [];
  const [, block = ''] = /```ts\n([\s\S]*?)```/.exec(readFileSync(`${root}/README.md`, 'utf8')) ?? [];
  const imports = block.split('\n').filter((line) => line.startsWith('import '));
  expect(block).toBe(`${imports.join('\n')}\n\n${code}`);
  for (const line of imports) expect(source).toContain(line);
});

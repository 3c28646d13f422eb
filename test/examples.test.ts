import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import '@postcommit/tooling/mysql-test-database';
import '@postcommit/tooling/test-database';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
// A folder without a manifest is what another branch left of its node_modules.
const examples = readdirSync(`${root}/examples`).filter((name) =>
  existsSync(`${root}/examples/${name}/package.json`),
);

/** As `npm start` does, which is what the READMEs say. Gives all that was written, once it has ended well. */
async function start(name: string, signal: AbortSignal): Promise<string> {
  const cwd = `${root}/examples/${name}`;
  const { scripts } = JSON.parse(read(`examples/${name}/package.json`)) as { scripts: { start: string } };
  const PATH = `${cwd}/node_modules/.bin${delimiter}${process.env.PATH}`;
  const MYSQL_URL = inject('mysqlUrl') ?? '';
  const env = { ...process.env, PATH, MYSQL_URL, DATABASE_URL: inject('postgresUrl') };
  // A group of its own: the shell alone would leave what it started behind.
  const shell = spawn(`${scripts.start} 2>&1`, {
    cwd,
    env,
    shell: true,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = (): boolean => shell.pid !== undefined && process.kill(-shell.pid, 'SIGKILL');
  signal.addEventListener('abort', kill);
  const ended = new Promise((resolve) => shell.on('close', resolve));
  const output = await text(shell.stdout);
  const code = await ended;
  signal.removeEventListener('abort', kill);
  expect(code, output).toBe(0);
  return output;
}

/** Without a MariaDB or MySQL it has nothing to run on. */
const needsMysql = (name: string): boolean => name === 'orders-mysql';

describe.concurrent('runs and ends well: example', () => {
  it.for(examples)('%s', { timeout: 120_000 }, async (name, { signal, skip }) => {
    skip(
      needsMysql(name) && inject('mysqlUrl') === undefined,
      'no MariaDB or MySQL to run on: set MYSQL_URL',
    );
    expect((await start(name, signal)).trim()).not.toBe('');
  });
});

it('the list of examples names every one of them, and no other', () => {
  const listed = [...read('examples/README.md').matchAll(/^\| \[`([^`]+)`\]\(([^)]+)\)/gm)];
  expect(listed.map(([, name]) => name).sort()).toEqual(examples.toSorted());
  for (const [, name, link] of listed) expect(link).toBe(name);
});

// `npm run demo` starts the demo, and the README of the repository says so.
it.each(examples.filter((name) => name !== 'demo'))(
  'the README of the example %s says how to run it',
  (name) => {
    expect(read(`examples/${name}/README.md`)).toContain('npm start');
  },
);

it('the guide on idempotency shows what its example runs', () => {
  const source = read('examples/idempotent-consumer/src/main.ts');
  const [, code] = /\/\/ #region guide\n([\s\S]*?)\/\/ #endregion/.exec(source) ?? [];
  const [, block] = /```ts\n([\s\S]*?)```/.exec(read('docs/guides/idempotency.md')) ?? [];
  expect(block).toBe(code);
});

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url));
const reporter = fileURLToPath(new URL('results-reporter.mjs', import.meta.url));
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** What became of a test under the newer Node. */
export interface InnerResult {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending';
  readonly note?: string;
  readonly errors: readonly string[];
}

export interface InnerRun {
  readonly tests: readonly InnerResult[];
  /** What went wrong outside of any test. */
  readonly outside: readonly string[];
}

/** The tests that need the newer Node; a text that says why there is none. */
export async function listTests(): Promise<readonly string[] | string> {
  const { stdout, stderr } = await vitest(['list', '--json']);
  if (stdout.trim() === '') return stderr.trim();
  const listed = JSON.parse(stdout.slice(stdout.indexOf('['))) as readonly { readonly name: string }[];
  return listed.map(({ name }) => name);
}

export async function runTests(): Promise<InnerRun> {
  const folder = await mkdtemp(join(tmpdir(), 'newer-node-'));
  const results = join(folder, 'results.json');
  try {
    const { stdout, stderr } = await vitest(['run', '--reporter', reporter], { INNER_RESULTS: results });
    const text = await readFile(results, 'utf8').catch(() => undefined);
    return text === undefined ? { tests: [], outside: [stdout, stderr] } : (JSON.parse(text) as InnerRun);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs vitest on the package's own configuration, under Node 24 where this Node is too old. Never rejects. */
async function vitest(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ stdout: string; stderr: string }> {
  const command = ['node_modules/vitest/vitest.mjs', ...args, '--config', config];
  const all = isNewEnough() ? command : ['scripts/with-node.mjs', '24', 'node', ...command];
  const options = { cwd: checkout, env: { ...outerEnvironment(), ...env }, maxBuffer: MAX_OUTPUT_BYTES };
  const running = promisify(execFile)(process.execPath, all, options);
  return running.catch((error: { stdout?: string; stderr?: string }) => ({
    stdout: error.stdout ?? '',
    stderr: error.stderr ?? String(error),
  }));
}

function isNewEnough(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 22);
}

/** Without what vitest tells its workers. */
function outerEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_)/.test(name)));
}

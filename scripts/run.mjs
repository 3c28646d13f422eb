/**
 * Behind `npm run demo`, `npm run example`, `npm test`, `npm run bench` and `npm run chaos`: on a machine with nothing but Node and npm,
 * fetches the pinned pnpm into the checkout, installs, builds, and then becomes what was asked for.
 *
 *   node scripts/run.mjs demo
 *   node scripts/run.mjs example [name]              on DATABASE_URL, or else on an embedded PostgreSQL
 *   node scripts/run.mjs test [vitest's arguments]
 *   node scripts/run.mjs bench [the benchmark's arguments]
 *   node scripts/run.mjs chaos [the faults' arguments]
 *   node scripts/run.mjs pnpm [pnpm's arguments]     the pinned pnpm, nothing installed or built first
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pnpmEntry, requireSupportedNode, root } from './checkout.mjs';
import { cleanEnvironment } from './environment.mjs';
import { prepare, providePnpm } from './prepare.mjs';
import { exampleNames, runExample } from './run-example.mjs';
import { StepFailed } from './step.mjs';

const modes = {
  demo: becomeDemo,
  example: startExample,
  test: becomeTestRun,
  bench: becomeBenchmark,
  chaos: becomeChaos,
  pnpm: becomePnpm,
};

async function becomeDemo(args) {
  await becomeTypescript(join(root, 'examples/demo'), 'src/main.ts', args);
}

async function startExample([name]) {
  if (!name || !exampleNames().includes(name)) {
    console.error(`Usage: npm run example <name>, where <name> is one of\n  ${exampleNames().join('\n  ')}`);
    process.exitCode = 2;
    return;
  }
  const server = process.env.DATABASE_URL ? undefined : await startPostgres();
  try {
    process.exitCode = await runExample(name, server && { DATABASE_URL: server.url });
  } finally {
    await server?.stop();
  }
}

/** The embedded server of the tests, which is TypeScript. */
async function startPostgres() {
  await loadTsx(root);
  const server = await import(pathToFileURL(join(root, 'internal/test-database/src/postgres.ts')).href);
  return server.startPostgres();
}

async function becomeBenchmark(args) {
  await becomeTypescript(root, 'bench/src/main.ts', args);
}

async function becomeChaos(args) {
  // The packages' sources, not what was built of them.
  process.env.TSX_TSCONFIG_PATH = join(root, 'chaos/tsconfig.json');
  await becomeTypescript(root, 'chaos/src/main.ts', args);
}

async function becomeTypescript(folder, program, args) {
  process.chdir(folder);
  await loadTsx(folder);
  await become(join(folder, program), args);
}

/** What `node --import tsx` does, without a second process. */
async function loadTsx(folder) {
  await import(pathToFileURL(createRequire(join(folder, 'package.json')).resolve('tsx')).href);
}

async function becomeTestRun(args) {
  process.chdir(root);
  await become(join(root, 'node_modules/vitest/vitest.mjs'), ['run', ...args]);
}

async function becomePnpm(args) {
  await become(pnpmEntry, args);
}

/** Loads the program into this process: signals and the exit code then need nobody to pass them on. */
async function become(program, args) {
  process.argv = [process.execPath, program, ...args];
  await import(pathToFileURL(program).href);
}

/** Whether all went well; if not, everything has been said and the exit code is set. */
async function isReady(mode) {
  const interruption = new AbortController();
  const onSignal = (signal) => interruption.abort(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, onSignal);
  try {
    requireSupportedNode();
    if (!Object.hasOwn(modes, mode))
      throw new Error('Usage: node scripts/run.mjs demo|example|test|bench|chaos|pnpm [arguments]');
    cleanEnvironment();
    await (mode === 'pnpm' ? providePnpm : prepare)(interruption.signal);
    return true;
  } catch (error) {
    const isReported = error instanceof StepFailed || interruption.signal.aborted;
    if (!isReported) console.error(error.message);
    process.exitCode = error.exitCode ?? 1;
    return false;
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
    // Dying by the same signal tells a calling shell that this was an interrupt, not a failure.
    if (interruption.signal.aborted) process.kill(process.pid, interruption.signal.reason);
  }
}

const [mode, ...args] = process.argv.slice(2);
if (await isReady(mode)) await modes[mode](args);

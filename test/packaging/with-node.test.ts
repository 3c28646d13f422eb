import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** Installs nothing but a `node` that says its name. It notes each call, and takes long enough for two to meet. */
const FAKE_NPM = `#!/bin/sh
for last; do :; done
echo "$last" >> "$CALLS"
sleep 0.5
mkdir -p "$3/node_modules/\${last%@*}/bin"
printf '#!/bin/sh\\necho "$0"\\n' > "$3/node_modules/\${last%@*}/bin/node"
chmod +x "$3/node_modules/\${last%@*}/bin/node"
`;

/** One process: a shell and its child could get the signal between fork and exec, where it is lost. */
const WAIT_FOR_TERM = `
  process.once('SIGTERM', () => { console.log('caught'); clearTimeout(open); });
  const open = setTimeout(() => {}, 60_000);
  console.log('ready');
`;

interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Started {
  /** Rejects, with what is left of it, if it does not end. */
  ended(): Promise<Ended>;
  /** Resolves with its first output; rejects if it ends without. */
  speaks(): Promise<unknown>;
  kill(signal: NodeJS.Signals): boolean;
}

/** Less than a test may take. */
const PATIENCE_MS = 25_000;

function start(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Started {
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  const ended = once(child, 'close').then(([code, signal]) => ({ code: code ?? signal, ...output }));
  const spoke = once(child.stdout, 'data');
  const within = <T>(what: string, work: Promise<T>) => Promise.race([work, hangs(what, output)]);
  return {
    ended: () => within('did not end', ended),
    speaks: () =>
      within(
        'said nothing',
        Promise.race([
          spoke,
          ended.then((end) => Promise.reject(new Error(`ended: ${JSON.stringify(end)}`))),
        ]),
      ),
    kill: (signal) => child.kill(signal),
  };
}

/** Rejects after a while, and says which processes there are and what they wait for. */
async function hangs(what: string, output: object): Promise<never> {
  await setTimeout(PATIENCE_MS, undefined, { ref: false });
  const columns = 'pid,ppid,pgid,stat,pending,blocked,caught,wchan:24,args';
  const { stdout } = spawnSync('ps', ['-eo', columns], { encoding: 'utf8' });
  const own = stdout.split('\n').filter((line) => /with-node|WAIT|caught|postcommit-with/.test(line));
  throw new Error(`${what}: ${JSON.stringify(output)}\n${own.join('\n')}`);
}

/** A checkout without a cache, on a machine with that npm. */
async function freshCheckout(): Promise<{
  folder: string;
  withNode(args: readonly string[], options?: string): Started;
  npmCalls(): Promise<string[]>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'postcommit-with-node-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(checkout, 'scripts'), join(folder, 'scripts'), { recursive: true });
  await cp(join(checkout, 'package.json'), join(folder, 'package.json'));
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin/npm'), FAKE_NPM);
  await chmod(join(folder, 'bin/npm'), 0o755);
  const CALLS = join(folder, 'calls');
  await writeFile(CALLS, '');
  const PATH = [join(folder, 'bin'), process.env.PATH].join(delimiter);
  return {
    folder,
    withNode: (args, NODE_OPTIONS = '') =>
      start(join(folder, 'scripts/with-node.mjs'), args, { PATH, CALLS, NODE_OPTIONS }),
    npmCalls: async () => (await readFile(CALLS, 'utf8')).split('\n').filter(Boolean),
  };
}

const pretend = (field: string, value: string): string =>
  `--import=data:text/javascript,Object.defineProperty(process,'${field}',{value:'${value}'})`;

describe('scripts/with-node.mjs', () => {
  it('runs a command under the Node that npm has for this machine', { timeout: 300_000 }, async () => {
    const { stdout, code } = await start(
      join(checkout, 'scripts/with-node.mjs'),
      ['24', 'node', '-p', 'process.version'],
      process.env,
    ).ended();
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^v24\.\d+\.\d+\n$/) });
  });

  it('fetches a Node once, also for two who ask at the same time, and keeps it', async () => {
    const { folder, withNode, npmCalls } = await freshCheckout();
    const both = await Promise.all([withNode(['26', 'node']).ended(), withNode(['26', 'node']).ended()]);
    const third = await withNode(['26', 'node']).ended();
    for (const { code, stdout } of [...both, third]) {
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^${folder}/\\.cache/node-[\\w-]+@26\\.\\d+\\.\\d+/node_modules/`));
    }
    expect(await npmCalls()).toEqual([expect.stringMatching(/^node-[\w-]+@26\.\d+\.\d+$/)]);
  });

  it('passes on the exit code of the command, and an interrupt to it', async () => {
    const { withNode } = await freshCheckout();
    expect(await withNode(['22', 'sh', '-c', 'exit 7']).ended()).toMatchObject({ code: 7 });
    const waiting = withNode(['22', process.execPath, '-e', WAIT_FOR_TERM]);
    await waiting.speaks();
    waiting.kill('SIGTERM');
    expect(await waiting.ended()).toMatchObject({ code: 'SIGTERM', stdout: 'ready\ncaught\n' });
  });

  it.each([
    ['an architecture', pretend('arch', 's390x'), `${process.platform}-s390x`],
    ['an operating system', pretend('platform', 'aix'), `aix-${process.arch}`],
  ])('skips %s that npm has no build for, and names it', async (_what, options, platform) => {
    const { withNode, npmCalls } = await freshCheckout();
    expect(await withNode(['24', 'node'], options).ended()).toEqual({
      code: 0,
      stdout: '',
      stderr: `Skipped: npm has no Node 24 for ${platform}\n`,
    });
    expect(await npmCalls()).toEqual([]);
  });

  it.each([[[]], [['24']], [['23', 'node']], [['toString', 'node']]])('refuses %j', async (args) => {
    const { withNode } = await freshCheckout();
    expect(await withNode(args).ended()).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Usage: node scripts/with-node.mjs 22|24|26 <command> [arguments]\n',
    });
  });
});

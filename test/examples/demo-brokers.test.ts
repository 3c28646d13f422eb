import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { whyNoMockKafka } from '@internal/test-brokers/kafka';
import { findNats } from '@internal/test-brokers/nats';
import { findRabbitmq } from '@internal/test-brokers/rabbitmq';
import { describe, expect, inject, it } from 'vitest';

const demo = fileURLToPath(new URL('../../examples/demo', import.meta.url));
const withNode = fileURLToPath(new URL('../../scripts/with-node.mjs', import.meta.url));
const [major = 0] = process.versions.node.split('.').map(Number);

interface DemoBroker {
  readonly broker: string;
  readonly named: string;
  /** What Node has to run it. */
  readonly node?: string;
  /** Undefined if it can run. */
  absent(): Promise<string | undefined>;
}

const brokers: readonly DemoBroker[] = [
  {
    broker: 'rabbitmq',
    named: 'to RabbitMQ at ',
    absent: async () => ((await findRabbitmq()) ? undefined : 'no RabbitMQ to run on'),
  },
  {
    broker: 'nats',
    named: 'to NATS at ',
    absent: () =>
      findNats().then(
        () => undefined,
        (error: Error) => error.message,
      ),
  },
  { broker: 'kafka', named: 'to Kafka (', node: '24', absent: async () => whyNoMockKafka() },
];

describe.concurrent('the demo on a real broker', () => {
  it.for(brokers)('keeps its promises with $broker', { timeout: 240_000 }, async (one, { skip }) => {
    const reason = await one.absent();
    skip(reason !== undefined, reason);
    const { code, output } = await play(one);
    skip(output.includes('Skipped: npm has no Node'), 'npm has no newer Node for this machine');
    expect(code, output).toBe(0);
    expect(output.replaceAll('\n', ' ')).toContain(one.named);
    expect(output).toContain('The way to ');
    expect(output).toContain('Every committed change was announced, in order, and nothing else.');
  });

  it.each([
    ['one that it does not know', ['--broker', 'pigeon'], 'must be one of rabbitmq, nats, kafka, got pigeon'],
    ['an unknown option', ['--brokr', 'nats'], '--brokr'],
  ])('refuses %s, with its usage', async (_what, args, problem) => {
    const { code, output } = await run(process.execPath, ['--import', 'tsx', 'src/main.ts', ...args]);
    expect(code).toBe(2);
    expect(output).toContain(problem);
    expect(output).toContain('Usage: npm run demo -- [--broker rabbitmq|nats|kafka]');
  });

  it('says what to do if no broker answers', async () => {
    const args = ['--import', 'tsx', 'src/main.ts', '--broker', 'nats'];
    const { code, output } = await run(process.execPath, args, { NATS_URL: 'nats://127.0.0.1:9' });
    expect(code).toBe(2);
    expect(output).toContain('no NATS answers at 127.0.0.1:9: set NATS_URL');
  });
});

function play({ broker, node }: DemoBroker): Promise<{ code: unknown; output: string }> {
  const args = ['--import', 'tsx', 'src/main.ts', '--broker', broker];
  const isNewEnough = node === undefined || major >= Number(node);
  return isNewEnough ? run(process.execPath, args) : run(process.execPath, [withNode, node, 'node', ...args]);
}

async function run(
  file: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<{ code: unknown; output: string }> {
  const child = spawn(file, args, {
    cwd: demo,
    env: { ...process.env, DATABASE_URL: inject('postgresUrl'), DEMO_PACE: '0.1', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await exited;
  return { code, output: `${stdout}${stderr}` };
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import { whyNoMockKafka } from '@internal/test-brokers/kafka';

const root = fileURLToPath(new URL('../..', import.meta.url));

let opening: Promise<NodeJS.ProcessEnv> | undefined;
let cluster: ChildProcess | undefined;

/** What the example of Kafka needs: the addresses of a mock cluster, and a Node that is new enough for its client. */
export function findKafka(): Promise<NodeJS.ProcessEnv> {
  opening ??= openKafka();
  return opening;
}

export async function closeKafka(): Promise<void> {
  if (!cluster || cluster.exitCode !== null || cluster.signalCode !== null) return;
  const ended = once(cluster, 'exit');
  cluster.stdin?.end();
  await ended;
}

async function openKafka(): Promise<NodeJS.ProcessEnv> {
  const args = ['scripts/with-node.mjs', '24', 'node', '-p', 'process.execPath'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  if (stdout === '') throw new BrokerUnavailable('npm has no Node 24 to run on');
  const missing = whyNoMockKafka();
  if (missing !== undefined) throw new BrokerUnavailable(missing);
  const program = fileURLToPath(import.meta.resolve('@internal/test-brokers/mock-kafka-process'));
  cluster = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [brokers] = (await once(cluster.stdout ?? cluster, 'data')) as [Buffer];
  const PATH = [dirname(stdout.trim()), process.env.PATH].join(delimiter);
  return { KAFKA_BROKERS: brokers.toString().trim(), PATH };
}

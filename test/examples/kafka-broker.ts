import { execFile } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import { MockKafkaCluster } from '@internal/test-brokers/kafka';

const root = fileURLToPath(new URL('../..', import.meta.url));

let opening: Promise<NodeJS.ProcessEnv> | undefined;
let cluster: MockKafkaCluster | undefined;

/** What the example of Kafka needs: the addresses of a mock cluster, and a Node that is new enough for its client. */
export function findKafka(): Promise<NodeJS.ProcessEnv> {
  opening ??= openKafka();
  return opening;
}

export async function closeKafka(): Promise<void> {
  await cluster?.close();
}

async function openKafka(): Promise<NodeJS.ProcessEnv> {
  const args = ['scripts/with-node.mjs', '24', 'node', '-p', 'process.execPath'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  if (stdout === '') throw new BrokerUnavailable('npm has no Node 24 to run on');
  cluster = new MockKafkaCluster();
  const PATH = [dirname(stdout.trim()), process.env.PATH].join(delimiter);
  return { KAFKA_BROKERS: cluster.brokers.join(','), PATH };
}

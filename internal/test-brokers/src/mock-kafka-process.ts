/**
 * A mock cluster in a process of its own: a failed assertion in librdkafka would otherwise end the tests that run beside
 * it. Prints the addresses of its brokers, and ends with its input.
 */
import { MockKafkaCluster } from './kafka.js';

const cluster = new MockKafkaCluster();
process.stdout.write(`${cluster.brokers.join(',')}\n`);
process.stdin.resume();
process.stdin.once('end', () => process.exit());

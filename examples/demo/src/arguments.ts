import { parseArgs } from 'node:util';
import { BROKERS, type BrokerName, isBrokerName } from './brokers/real-broker.js';

export const USAGE = `Usage: npm run demo -- [--broker ${BROKERS.join('|')}]

  --broker name   delivers to that broker instead of to tables. RabbitMQ and NATS on their usual ports, or at
                  RABBITMQ_URL and NATS_URL; Kafka is librdkafka's mock cluster, and needs Node 22.22 or newer
  --help`;

/** The message says what is wrong. */
export class BadArgument extends Error {}

export interface DemoArguments {
  readonly broker: BrokerName | undefined;
  readonly help: boolean;
}

export function readArguments(args: readonly string[]): DemoArguments {
  const { broker, help = false } = parse(args);
  if (broker !== undefined && !isBrokerName(broker))
    throw new BadArgument(`--broker must be one of ${BROKERS.join(', ')}, got ${broker}`);
  return { broker, help };
}

function parse(args: readonly string[]): { broker?: string; help?: boolean } {
  try {
    return parseArgs({
      args: [...args],
      options: { broker: { type: 'string' }, help: { type: 'boolean' } },
    }).values;
  } catch (error) {
    throw new BadArgument(error instanceof Error ? error.message : String(error));
  }
}

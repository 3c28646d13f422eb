import { execFile } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MockKafkaCluster, whyNoMockKafka } from '@internal/test-brokers/kafka';
import type { ExampleReadme } from './example-readme.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What an example needs beside a database. */
export interface ExampleBroker {
  /** Why it can't be had here. */
  readonly absent?: string | undefined;
  readonly variables: NodeJS.ProcessEnv;
  close(): Promise<void>;
}

const NONE: ExampleBroker = { variables: {}, close: async () => {} };

/** The brokers of examples that don't find one by themselves. */
const BROKERS: Readonly<Record<string, () => Promise<ExampleBroker>>> = { kafka: openKafka };

/** The brokers of these examples, by their names. */
export class ExampleBrokers {
  readonly #brokers: ReadonlyMap<string, ExampleBroker>;

  private constructor(brokers: ReadonlyMap<string, ExampleBroker>) {
    this.#brokers = brokers;
  }

  static async open(): Promise<ExampleBrokers> {
    const opened = Object.entries(BROKERS).map(async ([name, open]) => [name, await open()] as const);
    return new ExampleBrokers(new Map(await Promise.all(opened)));
  }

  of({ name }: ExampleReadme): ExampleBroker {
    return this.#brokers.get(name) ?? NONE;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#brokers.values()].map((broker) => broker.close()));
  }
}

/** The client of Kafka needs a newer Node than the tests may have. */
async function openKafka(): Promise<ExampleBroker> {
  const node = await newerNode();
  const absent = whyNoMockKafka() ?? (node === undefined ? 'npm has no Node 24 to run on' : undefined);
  if (absent !== undefined || node === undefined) return { ...NONE, absent };
  const cluster = new MockKafkaCluster();
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  const variables = { KAFKA_BROKERS: cluster.brokers.join(','), PATH };
  return { variables, close: () => cluster.close() };
}

async function newerNode(): Promise<string | undefined> {
  const args = ['scripts/with-node.mjs', '24', 'node', '-p', 'process.execPath'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  return stdout.trim() || undefined;
}

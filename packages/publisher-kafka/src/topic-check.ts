import { setTimeout } from 'node:timers/promises';
import { OutboxError, type PublisherProblem } from '@postcommit/core';
import { clientOptions, closeNow, loadKafka } from './kafka-client.js';
import { isMissingTopic, isNotForUs, isStale, namesIn, publishError } from './kafka-errors.js';
import type { KafkaProducer } from './kafka-producer.js';
import type { ResolvedOptions } from './kafka-publisher-options.js';

/** Settings of a topic that decide what a confirmation is worth. */
const SETTINGS = ['min.insync.replicas', 'unclean.leader.election.enable'];
const TOPIC_RESOURCE = 2;
const VISIBLE_POLL_MS = 50;

type Settings = ReadonlyMap<string, string>;
type Admin = InstanceType<Awaited<ReturnType<typeof loadKafka>>['Admin']>;

/**
 * Creates those of the topics that don't exist.
 *
 * @throws `INVALID_CONFIG` if this cluster does not let the client do that.
 */
export async function declareTopics(producer: KafkaProducer, options: ResolvedOptions): Promise<void> {
  const { declare } = options;
  const { partitions, replicas, configs = {} } = typeof declare === 'object' ? declare : {};
  const known = await Promise.all(options.topics.map((topic) => leastReplicas(topic, producer)));
  const topics = options.topics.filter((_, index) => known[index] === undefined);
  if (topics.length === 0) return;
  const wanted = {
    topics,
    configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
    ...(partitions !== undefined && { partitions }),
    ...(replicas !== undefined && { replicas }),
  };
  try {
    await withAdmin(options, (admin) => admin.createTopics(wanted));
  } catch (cause) {
    const message = `Kafka topics can't be created: ${topics.join(', ')}`;
    if (isNotForUs(cause)) throw new OutboxError('INVALID_CONFIG', message, { cause });
    // Another process may have been faster.
    if (!namesIn(cause).includes('TOPIC_ALREADY_EXISTS')) throw publishError(message, cause);
  }
  await untilVisible(topics, producer, options.timeoutMs);
}

/** A broker may not know a topic for a moment after another one has created it. */
async function untilVisible(
  topics: readonly string[],
  producer: KafkaProducer,
  limitMs: number,
): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  for (const topic of topics)
    while (!(await isVisible(topic, producer)) && performance.now() < deadlineMs)
      await setTimeout(VISIBLE_POLL_MS);
}

async function isVisible(topic: string, producer: KafkaProducer): Promise<boolean> {
  try {
    return (await leastReplicas(topic, producer)) !== undefined;
  } catch (error) {
    // Its leaders are being elected.
    if (isStale(error)) return false;
    throw error;
  }
}

/** What is wrong with the topics of the options. */
export async function topicProblems(
  producer: KafkaProducer,
  options: ResolvedOptions,
): Promise<PublisherProblem[]> {
  const replicas = new Map<string, number>();
  for (const topic of options.topics) {
    const least = await leastReplicas(topic, producer);
    if (least !== undefined) replicas.set(topic, least);
  }
  const missing = options.topics.filter((topic) => !replicas.has(topic));
  const settings = await settingsOf([...replicas.keys()], options);
  const weak = [...replicas].flatMap(([topic, least]) => weaknesses(topic, least, settings.get(topic)));
  return [...missing.map(doesNotExist), ...weak];
}

function weaknesses(topic: string, replicas: number, settings: Settings | undefined): PublisherProblem[] {
  return [
    ...(replicas < 2 ? [oneReplica(topic)] : []),
    ...(settings?.get('min.insync.replicas') === '1' ? [oneInSync(topic)] : []),
    ...(settings?.get('unclean.leader.election.enable') === 'true' ? [uncleanElection(topic)] : []),
  ];
}

function doesNotExist(topic: string): PublisherProblem {
  return {
    level: 'required',
    problem: `Kafka topic '${topic}' does not exist, or this client may not see it`,
    fix: 'create it, or allow this client to describe it, or set declare: true',
  };
}

function oneReplica(topic: string): PublisherProblem {
  return {
    level: 'warning',
    problem: `Kafka topic '${topic}' has one replica: what it has confirmed is lost with that broker's disk`,
    fix: 'reassign its partitions to three replicas',
  };
}

function oneInSync(topic: string): PublisherProblem {
  return {
    level: 'warning',
    problem: `min.insync.replicas of Kafka topic '${topic}' is 1: it confirms what only one broker has`,
    fix: 'set it to 2, with a replication factor of 3',
  };
}

function uncleanElection(topic: string): PublisherProblem {
  return {
    level: 'warning',
    problem: `Kafka topic '${topic}' may elect a leader that lacks confirmed messages`,
    fix: 'set unclean.leader.election.enable to false',
  };
}

/** The replicas of the partition that has the fewest; undefined if there is no such topic. */
async function leastReplicas(topic: string, producer: KafkaProducer): Promise<number | undefined> {
  try {
    const { topics } = await producer.metadata({
      topics: [topic],
      autocreateTopics: false,
      forceUpdate: true,
      retries: 0,
    });
    return Math.min(...(topics.get(topic)?.partitions ?? []).map(({ replicas }) => replicas.length));
  } catch (error) {
    if (isMissingTopic(error)) return undefined;
    throw publishError(`Kafka topic '${topic}' can't be checked`, error);
  }
}

/** Empty where the cluster does not say: it may be too old, or this client may lack the right to ask. */
async function settingsOf(
  topics: readonly string[],
  options: ResolvedOptions,
): Promise<ReadonlyMap<string, Settings>> {
  if (options.producer || topics.length === 0) return new Map();
  try {
    const described = await withAdmin(options, (admin) =>
      admin.describeConfigs({ resources: topics.map(asResource) }),
    );
    return new Map(
      described.map(({ resourceName, configs }) => [
        resourceName,
        new Map(configs.map(({ name, value }) => [name, value ?? ''])),
      ]),
    );
  } catch (error) {
    if (isNotForUs(error)) return new Map();
    throw publishError("the settings of the Kafka topics can't be read", error);
  }
}

function asResource(resourceName: string): {
  resourceType: typeof TOPIC_RESOURCE;
  resourceName: string;
  configurationKeys: string[];
} {
  return { resourceType: TOPIC_RESOURCE, resourceName, configurationKeys: SETTINGS };
}

async function withAdmin<T>(options: ResolvedOptions, use: (admin: Admin) => Promise<T>): Promise<T> {
  const { Admin } = await loadKafka();
  const admin = new Admin(clientOptions(options));
  try {
    return await use(admin);
  } finally {
    await closeNow(admin);
  }
}

import { setMaxListeners } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import {
  OutboxError,
  OutboxPublisher,
  type OutboxRow,
  type PublishBatchContext,
  type PublishContext,
  type PublisherHealth,
  type PublisherProblem,
  type PublishResult,
  type StopOptions,
  UnavailableError,
} from '@postcommit/core';
import { DEFAULT_GRACE_MS, endsWithin, SharedConnection, systemClock } from '@postcommit/core/internal';
import { type KafkaClient, openClient } from './kafka-client.js';
import { connectError, isCutOff, isMissingTopic, isStale, publishError } from './kafka-errors.js';
import type { KafkaProducer } from './kafka-producer.js';
import {
  type KafkaPublisherOptions,
  type ResolvedOptions,
  resolveOptions,
} from './kafka-publisher-options.js';
import { type PreparedRow, prepareRow } from './kafka-record.js';
import { PartitionChoice, type Place, type PlacedRow, recordOf } from './placed-row.js';
import { outcomesOf, storedPlaces } from './send-outcomes.js';
import { type Outcomes, type PlaceOutcome, SendRounds } from './send-rounds.js';
import { declareTopics, topicProblems } from './topic-check.js';
import { Turns, withDeadline, within } from './turns.js';

/** Every replica that is in sync has it. The package ignores this as an option of the producer. */
const ALL_REPLICAS = -1;

/** A new leader is often found within this time. */
const ELECTION_MS = 100;

class KafkaPublisher extends OutboxPublisher {
  override readonly name = 'kafka';
  readonly #options: ResolvedOptions;
  readonly #connection: SharedConnection<KafkaClient>;
  readonly #partitions = new PartitionChoice();
  readonly #turns = new Turns();
  /** Aborts when the grace period of a stop is over. */
  #running = newRun();
  #attempts = 0;

  constructor(options: KafkaPublisherOptions) {
    super();
    this.#options = resolveOptions(options);
    this.#connection = new SharedConnection({
      open: () => this.#open(),
      close: (client) => client.close(),
    });
  }

  override async start(): Promise<void> {
    const { producer } = await this.#connection.get();
    if (this.#options.declare) await declareTopics(producer, this.#options);
  }

  override async stop({ graceMs = DEFAULT_GRACE_MS }: StopOptions): Promise<void> {
    await endsWithin(graceMs, this.#turns.over, systemClock);
    this.#running.abort(new UnavailableError('the publisher was stopped', { cause: new Error('stop') }));
    this.#running = newRun();
    await this.#connection.close();
  }

  override async check(): Promise<readonly PublisherProblem[]> {
    const { producer } = await this.#connection.get();
    return topicProblems(producer, this.#options);
  }

  override health(): PublisherHealth {
    return { isConnected: this.#connection.isOpen };
  }

  override async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    const [result] = await this.publishBatch([row], context);
    if (result?.status === 'rejected') throw result.reason;
  }

  override async publishBatch(
    rows: readonly OutboxRow[],
    { signal }: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    const { timeoutMs, maxBatchBytes } = this.#options;
    const rounds = new SendRounds(rows, maxBatchBytes);
    try {
      await withDeadline([signal, this.#running.signal], timeoutMs, (limit) =>
        within(limit, () => this.#turns.take(() => this.#deliver(rows, rounds, limit))),
      );
    } catch (reason) {
      rounds.rejectRest(reason);
    }
    return rounds.results;
  }

  async #open(): Promise<KafkaClient> {
    const attempt = this.#attempts++;
    try {
      return await openClient(this.#options, attempt, this.#running.signal);
    } catch (error) {
      if (error instanceof OutboxError) throw error;
      throw connectError(error);
    }
  }

  async #deliver(rows: readonly OutboxRow[], rounds: SendRounds, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const prepared = await within(signal, () => this.#prepare(rows, rounds));
    if (prepared.length === 0) return;
    const client = await within(signal, () => this.#connection.get());
    rounds.begin(await this.#place(client, prepared, rounds, signal));
    for (let round = rounds.next(); round.length > 0; round = rounds.next())
      rounds.settle(round, await this.#send(client, round, signal));
  }

  async #prepare(rows: readonly OutboxRow[], rounds: SendRounds): Promise<PreparedRow[]> {
    const prepared = await Promise.allSettled(
      rows.map((row, index) => prepareRow(row, index, this.#options)),
    );
    return prepared.flatMap((result, index) => {
      if (result.status === 'fulfilled') return result.value;
      rounds.reject(index, result.reason);
      return [];
    });
  }

  async #place(
    { producer }: KafkaClient,
    prepared: readonly PreparedRow[],
    rounds: SendRounds,
    signal: AbortSignal,
  ): Promise<PlacedRow[]> {
    const topics = [...new Set(prepared.map(({ topic }) => topic))];
    const count = async (topic: string) => [topic, await countPartitions(producer, topic)] as const;
    const counts = new Map(await within(signal, () => Promise.all(topics.map(count))));
    return prepared.flatMap((row) => {
      const partitions = counts.get(row.topic);
      if (typeof partitions === 'number') return this.#partitions.choose(row, partitions);
      rounds.reject(row.index, partitions);
      return [];
    });
  }

  /** Rows of partitions that have moved are sent again, for what was refused can't overtake anything. */
  async #send(client: KafkaClient, round: readonly PlacedRow[], signal: AbortSignal): Promise<Outcomes> {
    const outcomes = new Map<Place, PlaceOutcome>();
    let rows = round;
    for (let retries = this.#options.retries; rows.length > 0; retries--) {
      for (const [place, outcome] of await this.#request(client, rows, signal)) outcomes.set(place, outcome);
      if ([...outcomes.values()].some(({ kind }) => kind === 'failed')) client.producer.clearMetadata();
      rows = retries > 0 ? rows.filter(({ place }) => hasMoved(outcomes.get(place))) : [];
      if (rows.length > 0) await setTimeout(ELECTION_MS, undefined, { signal });
    }
    return outcomes;
  }

  async #request(
    client: KafkaClient,
    rows: readonly PlacedRow[],
    signal: AbortSignal,
  ): Promise<Map<Place, PlaceOutcome>> {
    const { compression } = this.#options;
    const messages = rows.map(recordOf);
    const places = new Set(rows.map(({ place }) => place));
    try {
      const { offsets } = await within(signal, () =>
        client.producer.send({
          messages,
          acks: ALL_REPLICAS,
          autocreateTopics: false,
          repeatOnStaleMetadata: false,
          ...(compression && { compression }),
        }),
      );
      return storedPlaces(offsets);
    } catch (error) {
      // What waits in the client must not be sent after the rows were given up.
      if (signal.aborted || isCutOff(error)) await this.#drop(client);
      signal.throwIfAborted();
      return outcomesOf(error, places);
    }
  }

  /** The next request connects again, to another broker first. */
  async #drop(client: KafkaClient): Promise<void> {
    await this.#connection.lost(client);
    await client.close();
  }
}

/** Every publish listens to its signal. */
function newRun(): AbortController {
  const run = new AbortController();
  setMaxListeners(0, run.signal);
  return run;
}

function hasMoved(outcome: PlaceOutcome | undefined): boolean {
  return outcome?.kind === 'failed' && isStale(outcome.reason);
}

/** Returns what is wrong with the topic if they can't be counted. */
async function countPartitions(producer: KafkaProducer, topic: string): Promise<number | Error> {
  try {
    const { topics } = await producer.metadata({ topics: [topic], autocreateTopics: false, retries: 0 });
    const count = topics.get(topic)?.partitionsCount ?? 0;
    return count > 0 ? count : new UnavailableError(`Kafka topic '${topic}' has no partitions`);
  } catch (error) {
    if (!isMissingTopic(error)) return publishError(`Kafka topic '${topic}'`, error);
    const problem = `Kafka topic '${topic}' does not exist, or this client may not see it`;
    return new UnavailableError(problem, { cause: error });
  }
}

/**
 * Publishes rows to Kafka. A row is dispatched when every replica in sync has it; rows with the same key go to the same
 * partition, in order. Needs Node 22.22 or newer.
 *
 * @throws OutboxError `INVALID_CONFIG` for an invalid option.
 * @example
 * kafkaPublisher({ brokers: ['localhost:9092'], topics: ['orders'], topic: () => 'orders' })
 */
export function kafkaPublisher(options: KafkaPublisherOptions): OutboxPublisher {
  return new KafkaPublisher(options);
}

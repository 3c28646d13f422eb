import { DiscardPolicy, type JetStreamManager, StorageType, type StreamConfig } from '@nats-io/jetstream';
import type { PublisherProblem } from '@postcommit/core';
import { apiCodeOf } from './publish-errors.js';
import { covers } from './subject-patterns.js';

const STREAM_NOT_FOUND = 10_059;
const NANOSECONDS_PER_MS = 1_000_000;
/** Longer than a claim that has to expire, by default 5 minutes, and a retry after it. */
const DEFAULT_WINDOW_MS = 600_000;
const SAFE_REPLICAS = 3;

/** What the settings of a stream are compared with. */
export interface Expectations {
  readonly subjects: readonly string[];
  /** A row may come again after this time. */
  readonly redeliveryAfterMs: number;
  readonly isCluster: boolean;
}

/** What a stream is created for. */
export interface StreamDeclaration {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly isCluster: boolean;
  readonly replicas?: number | undefined;
  readonly duplicateWindowMs?: number | undefined;
}

/** Undefined if there is no such stream. */
export async function findStream(manager: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (error) {
    if (apiCodeOf(error) === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}

/** Creates the stream if it does not exist. One that exists is not changed. */
export async function declareStream(
  manager: JetStreamManager,
  declaration: StreamDeclaration,
): Promise<void> {
  const { name, subjects, isCluster, duplicateWindowMs = DEFAULT_WINDOW_MS } = declaration;
  if (await findStream(manager, name)) return;
  const { replicas = isCluster ? SAFE_REPLICAS : 1 } = declaration;
  try {
    await manager.streams.add({
      name,
      subjects: [...subjects],
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      num_replicas: replicas,
      duplicate_window: duplicateWindowMs * NANOSECONDS_PER_MS,
    });
  } catch (error) {
    // Another process was quicker, perhaps with other settings.
    if (await findStream(manager, name)) return;
    throw error;
  }
}

/** What is wrong with the settings of a stream. */
export function settingProblems(stream: StreamConfig, expected: Expectations): PublisherProblem[] {
  return [
    ...uncovered(stream, expected),
    ...(stream.no_ack ? [required(stream, 'does not confirm messages', 'set no_ack to false')] : []),
    ...(stream.sealed ? [required(stream, 'is sealed', 'publish to another stream')] : []),
    ...durability(stream, expected),
    ...deletion(stream),
    ...duplicates(stream, expected),
  ];
}

function uncovered(stream: StreamConfig, { subjects }: Expectations): PublisherProblem[] {
  const patterns = stream.subjects ?? [];
  return subjects
    .filter((subject) => !patterns.some((pattern) => covers(pattern, subject)))
    .map((subject) => required(stream, `does not take ${subject}`, `add ${subject} to its subjects`));
}

function durability(stream: StreamConfig, { isCluster }: Expectations): PublisherProblem[] {
  const problems: PublisherProblem[] = [];
  if (stream.storage === StorageType.Memory)
    problems.push(warning(stream, 'is kept in memory: a restart loses it', 'use file storage'));
  if (isCluster && stream.num_replicas < SAFE_REPLICAS) {
    const problem = `has ${stream.num_replicas} replica(s): what is confirmed is lost with that server`;
    problems.push(warning(stream, problem, `use ${SAFE_REPLICAS} replicas`));
  }
  return problems;
}

function deletion(stream: StreamConfig): PublisherProblem[] {
  const problems: PublisherProblem[] = [];
  const isLimited = stream.max_msgs > 0 || stream.max_bytes > 0;
  if (stream.discard === DiscardPolicy.Old && isLimited) {
    const problem = 'deletes its oldest messages when it is full, whether or not they were consumed';
    problems.push(warning(stream, problem, "use discard: 'new': then rows wait in the outbox"));
  }
  const refusesPerSubject = stream.discard === DiscardPolicy.New && stream.discard_new_per_subject;
  if (stream.max_msgs_per_subject > 0 && !refusesPerSubject) {
    const problem = `keeps only ${stream.max_msgs_per_subject} message(s) of each subject`;
    problems.push(warning(stream, problem, "remove max_msgs_per_subject, or use discard: 'new' per subject"));
  }
  if (stream.retention === 'interest') {
    const problem = 'deletes messages at once while it has no consumer';
    problems.push(warning(stream, problem, 'create the consumers before the first message, or use limits'));
  }
  return problems;
}

function duplicates(stream: StreamConfig, { redeliveryAfterMs }: Expectations): PublisherProblem[] {
  const windowMs = stream.duplicate_window / NANOSECONDS_PER_MS;
  if (windowMs >= redeliveryAfterMs) return [];
  const problem = `forgets ids after ${windowMs} ms, but a row may come again after ${redeliveryAfterMs} ms`;
  return [warning(stream, problem, `set duplicate_window to at least ${redeliveryAfterMs} ms`)];
}

function required({ name }: StreamConfig, problem: string, fix: string): PublisherProblem {
  return { level: 'required', problem: `stream ${name} ${problem}`, fix };
}

function warning({ name }: StreamConfig, problem: string, fix: string): PublisherProblem {
  return { level: 'warning', problem: `stream ${name} ${problem}`, fix };
}

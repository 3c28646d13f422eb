import { OutboxError, type OutboxRow } from '@postcommit/core';
import { assertKnownOptions, assertTimerDelay, type OptionNames } from '@postcommit/core/internal';
import type { QueueLike } from './queue-like.js';

export const DEFAULT_TIMEOUT_MS = 5_000;

/** The options of a connection of `ioredis`: `host`, `port`, `username`, `password`, `db`, `tls`, or `url`. */
export type BullmqConnection = Readonly<Record<string, unknown>>;

/** The options of a job, as `queue.add` takes them: `attempts`, `backoff`, `priority`, `delay`, `removeOnComplete`. */
export type JobOptions = Readonly<Record<string, unknown>>;

/** How to connect. Use this or `queue`. */
export interface BullmqServerOptions {
  /** The connection, or a function that returns it: called for each connection, so that credentials can rotate. */
  readonly connection: BullmqConnection | (() => BullmqConnection | Promise<BullmqConnection>);
  /** The name of the queue. */
  readonly name: string;
  /** The prefix of BullMQ's keys. @default 'bull' */
  readonly prefix?: string;
  /** How long an attempt to connect may take. @default 5_000 */
  readonly connectTimeoutMs?: number;
}

interface BullmqSendOptions {
  /** The name of the job of a row. @default its topic */
  readonly jobName?: (row: OutboxRow) => string;
  /** The options of all jobs, or of the job of a row. Their `jobId` is always made of the row's id. @default none */
  readonly jobOptions?: JobOptions | ((row: OutboxRow) => JobOptions);
  /** What a worker finds in `job.data`: the payload, or `{ id, topic, key, payload, headers, createdAt }`. @default 'payload' */
  readonly data?: 'payload' | 'row';
  /** How long Redis may be silent while it owes answers. @default 5_000 */
  readonly timeoutMs?: number;
}

/** The options of `bullmqPublisher`. */
export type BullmqPublisherOptions = BullmqSendOptions &
  (
    | (BullmqServerOptions & { readonly queue?: never })
    | {
        /** A queue of the application. It is never closed. */
        readonly queue: QueueLike;
      }
  );

/** All options, of both kinds. */
export type AnyBullmqOptions = BullmqSendOptions &
  Partial<BullmqServerOptions> & { readonly queue?: QueueLike };

const SERVER_NAMES: OptionNames<BullmqServerOptions> = {
  connection: true,
  name: true,
  prefix: true,
  connectTimeoutMs: true,
};
const NAMES: OptionNames<AnyBullmqOptions> = {
  ...SERVER_NAMES,
  queue: true,
  jobName: true,
  jobOptions: true,
  data: true,
  timeoutMs: true,
};
const WHERE = 'bullmqPublisher';

/** @throws `INVALID_CONFIG` */
export function assertBullmqOptions(options: AnyBullmqOptions): void {
  if (typeof options !== 'object' || options === null) throw invalid('options must be an object');
  assertKnownOptions(WHERE, options, NAMES);
  assertConnection(options);
  const { jobName, jobOptions = {}, data = 'payload', timeoutMs, connectTimeoutMs } = options;
  if (jobName !== undefined && typeof jobName !== 'function') throw invalid('jobName must be a function');
  if (typeof jobOptions !== 'function') assertJobOptions(jobOptions);
  if (data !== 'payload' && data !== 'row') throw invalid("data must be 'payload' or 'row'");
  if (timeoutMs !== undefined) assertTimerDelay(`${WHERE}: timeoutMs`, timeoutMs);
  if (connectTimeoutMs !== undefined) assertTimerDelay(`${WHERE}: connectTimeoutMs`, connectTimeoutMs);
}

function assertConnection(options: AnyBullmqOptions): void {
  const { connection, queue, name, prefix } = options;
  if ((connection === undefined) === (queue === undefined)) throw invalid('pass either connection or queue');
  if (queue !== undefined) {
    const other = Object.keys(SERVER_NAMES).find((option) => option in options);
    if (other) throw invalid(`${other} has no effect on a queue that is handed in`);
    if (typeof queue?.add !== 'function' || typeof queue.waitUntilReady !== 'function')
      throw invalid('queue must be a Queue of bullmq');
    return;
  }
  if (typeof connection !== 'function' && !isPlainObject(connection))
    throw invalid('connection must be the options of ioredis, not a client: pass queue for one of your own');
  if (typeof name !== 'string' || name === '' || name.includes(':'))
    throw invalid('name must be the name of a queue, without colons');
  if (prefix !== undefined && (typeof prefix !== 'string' || prefix === ''))
    throw invalid('prefix must be a text');
}

/** A client of the application would be closed, and would reconnect. */
function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function assertJobOptions(options: unknown): void {
  if (!isPlainObject(options)) throw invalid('jobOptions must be an object or a function');
  if ('jobId' in (options as object)) throw invalid('jobOptions.jobId is made of the id of the row');
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `${WHERE}: ${problem}`);
}

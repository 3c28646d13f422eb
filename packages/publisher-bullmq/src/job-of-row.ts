import { type OutboxRow, PermanentError } from '@postcommit/core';
import { encodeRow } from '@postcommit/core/internal';
import type { AnyBullmqOptions, JobOptions } from './bullmq-options.js';
import { jobIdOf } from './job-id.js';

/** The data of a job with `data: 'row'`. */
export interface RowJobData {
  readonly id: string;
  readonly topic: string;
  readonly key?: string;
  readonly payload: unknown;
  /** Those of the row, and `outbox-id`, `outbox-topic`, `outbox-key`, `outbox-created-at`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly createdAt: string;
}

/** What is added to the queue. */
export interface RowJob {
  readonly rowId: string;
  readonly name: string;
  readonly data: unknown;
  readonly options: JobOptions;
}

type Format = Pick<AnyBullmqOptions, 'jobName' | 'jobOptions' | 'data'>;

/** @throws PermanentError if BullMQ can't take the row. */
export async function toJob(row: OutboxRow, format: Format): Promise<RowJob> {
  const { jobName = topicOf, jobOptions = {}, data = 'payload' } = format;
  const name: unknown = computed(row, 'the name of its job', jobName);
  if (typeof name !== 'string' || name === '') throw refused(row, 'its job has no name');
  if (!name.isWellFormed()) throw refused(row, 'the name of its job is not well-formed Unicode');
  const own: unknown =
    typeof jobOptions === 'function' ? computed(row, 'the options of its job', jobOptions) : jobOptions;
  if (typeof own !== 'object' || own === null) throw refused(row, 'the options of its job are not an object');
  const options: JobOptions = { ...telemetryOf(row), ...own, jobId: jobIdOf(row.id) };
  const job = { rowId: row.id, name, data: data === 'row' ? await rowData(row) : row.payload, options };
  assertSize(row, job);
  return job;
}

function topicOf({ topic }: OutboxRow): string {
  return topic;
}

function computed<T>(row: OutboxRow, what: string, compute: (row: OutboxRow) => T): T {
  try {
    return compute(row);
  } catch (cause) {
    throw new PermanentError(`row ${row.id}: ${what} could not be determined`, { cause });
  }
}

async function rowData(row: OutboxRow): Promise<RowJobData> {
  const { id, topic, key, payload, createdAt } = row;
  const { headers } = await encodeRow(row, {});
  return {
    id,
    topic,
    ...(key !== undefined && { key }),
    payload,
    headers,
    createdAt: createdAt.toISOString(),
  };
}

/** Trace context where BullMQ's own telemetry looks for it. */
function telemetryOf({ headers }: OutboxRow): JobOptions {
  const { traceparent, tracestate } = headers;
  if (traceparent === undefined) return {};
  return { telemetry: { metadata: JSON.stringify({ traceparent, tracestate }) } };
}

function assertSize(row: OutboxRow, { data, options: { sizeLimit } }: RowJob): void {
  if (typeof sizeLimit !== 'number') return;
  const bytes = Buffer.byteLength(JSON.stringify(data));
  if (bytes > sizeLimit) throw refused(row, `its job has ${bytes} bytes, and sizeLimit allows ${sizeLimit}`);
}

function refused({ id }: OutboxRow, problem: string): PermanentError {
  return new PermanentError(`row ${id} can't be added: ${problem}`);
}

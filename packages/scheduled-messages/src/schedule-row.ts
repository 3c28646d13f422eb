import { type OutboxEntry, OutboxError, type OutboxRow } from '@postcommit/core';
import { resolveRunAt } from './run-at.js';
import type { ScheduleEnvelope } from './schedule-envelope.js';
import { SCHEDULE_ARRIVED } from './schedule-events.js';
import { type ScheduleRetryPolicy, toRowRetry } from './schedule-retry.js';
import type { ScheduleSpec } from './schedule-spec.js';

/**
 * The topic of every scheduled row. With one topic, `peek({ topic })` and `outbox:list --topic` show them all, and they
 * can't be mistaken for the application's rows that have the same topic as a schedule.
 */
export const SCHEDULE_TOPIC = SCHEDULE_ARRIVED;

/** Marks a scheduled row. The value is the version of its payload. */
export const SCHEDULE_HEADER = 'postcommit-schedule';
const VERSION = '1';

const MAX_TOPIC_LENGTH = 255;

/**
 * Converts a schedule to an outbox entry, and checks what the enqueue can't.
 *
 * @throws OutboxError `INVALID_ENTRY`, before anything is stored.
 */
export function toEntry(spec: ScheduleSpec, policy: ScheduleRetryPolicy): OutboxEntry {
  const { id, topic, payload, metadata = {} } = spec;
  if (typeof topic !== 'string' || topic === '' || topic.length > MAX_TOPIC_LENGTH)
    throw invalid(`topic must be a string of 1 to ${MAX_TOPIC_LENGTH} characters`);
  if (payload === undefined) throw invalid('payload is missing; pass null for an empty payload');
  if (!isRecord(metadata)) throw invalid('metadata must be an object');
  const { runAt, timezone } = resolveRunAt(spec.runAt, spec.timezone);
  const envelope: ScheduleEnvelope = { topic, runAt: runAt.toISOString(), timezone, payload, metadata };
  const entry = {
    ...(id !== undefined && { id }),
    topic: SCHEDULE_TOPIC,
    payload: envelope,
    headers: { [SCHEDULE_HEADER]: VERSION },
    availableAt: runAt,
    retry: toRowRetry(policy),
  };
  // An application that declares its topics does not declare this one.
  return entry as unknown as OutboxEntry;
}

/** Checks the header, not the topic, because an application may use the topic too. */
export function isScheduleRow({ headers }: Pick<OutboxRow, 'headers'>): boolean {
  return headers[SCHEDULE_HEADER] !== undefined;
}

/** Returns undefined for a row that is not a schedule, or whose payload was edited into something else. */
export function envelopeOf(row: OutboxRow): ScheduleEnvelope | undefined {
  const { payload } = row as { readonly payload: unknown };
  if (row.headers[SCHEDULE_HEADER] !== VERSION || row.undecodable !== undefined) return undefined;
  return isEnvelope(payload) ? payload : undefined;
}

function isEnvelope(value: unknown): value is ScheduleEnvelope {
  return (
    isRecord(value) &&
    typeof value.topic === 'string' &&
    typeof value.runAt === 'string' &&
    typeof value.timezone === 'string' &&
    'payload' in value &&
    isRecord(value.metadata)
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_ENTRY', `schedule: ${problem}`);
}

import { type EnqueuePipeline, OutboxError } from '@postcommit/core';
import type { ScheduleSpec } from './schedule-spec.js';

/**
 * Validates a schedule against the schema of its own topic; the row itself has another topic.
 *
 * @throws OutboxError `SCHEMA_MISMATCH`.
 */
export async function assertFitsSchema(
  pipeline: EnqueuePipeline,
  { topic, payload }: ScheduleSpec,
): Promise<void> {
  if (!pipeline.hasSchema(topic)) return;
  const stored = asStored(payload);
  // The enqueue rejects what is not JSON, and says where it is.
  if (!stored) return;
  const problem = await pipeline.schemaProblem(topic, stored.payload);
  if (problem) throw new OutboxError('SCHEMA_MISMATCH', `schedule: payload of topic '${topic}': ${problem}`);
}

/** The payload as listeners will receive it, e.g. with a Date as a string. */
function asStored(payload: unknown): { readonly payload: unknown } | undefined {
  try {
    return { payload: JSON.parse(JSON.stringify(payload)) };
  } catch {
    return undefined;
  }
}

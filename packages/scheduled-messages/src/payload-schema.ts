import { type EnqueuePipeline, OutboxError } from '@postcommit/core';
import type { ScheduleSpec } from './schedule-spec.js';

/** Holds a schedule to the schema of its own topic: the row itself has another one. */
export async function assertFitsSchema(
  pipeline: EnqueuePipeline,
  { topic, payload }: ScheduleSpec,
): Promise<void> {
  if (!pipeline.hasSchema(topic)) return;
  const stored = asStored(payload);
  // What JSON can't hold is refused by the enqueue, which says where it is.
  if (!stored) return;
  const problem = await pipeline.schemaProblem(topic, stored.payload);
  if (problem) throw new OutboxError('SCHEMA_MISMATCH', `schedule: payload of topic '${topic}': ${problem}`);
}

/** What listeners will get, a Date as a string for one. */
function asStored(payload: unknown): { readonly payload: unknown } | undefined {
  try {
    return { payload: JSON.parse(JSON.stringify(payload)) };
  } catch {
    return undefined;
  }
}

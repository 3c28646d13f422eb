import {
  type Attributes,
  type Context,
  context,
  type Link,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { DispatchSummary, OutboxEntry, OutboxRow } from '@postcommit/core';
import { MESSAGING_SYSTEM, OUTBOX_ATTRIBUTES, OUTBOX_SPANS } from './attributes.js';
import { failureOf, recordFailure } from './failure.js';
import { type StoredContext, storedContext } from './trace-context.js';

/** A span and the context in which it is active. */
export interface StartedSpan {
  readonly span: Span;
  readonly context: Context;
}

/** More topics than this would make the attribute unreadable. */
const MAX_TOPICS = 100;

export function startEnqueueSpan(
  tracer: Tracer,
  entries: readonly OutboxEntry[],
  more: Attributes,
): StartedSpan {
  const attributes = { ...more, ...enqueueAttributes(entries) };
  return started(
    tracer.startSpan(OUTBOX_SPANS.enqueue, { kind: SpanKind.PRODUCER, attributes }),
    context.active(),
  );
}

export function startDispatchSpan(
  tracer: Tracer,
  limit: number,
  more: Attributes,
  parent: Context,
): StartedSpan {
  const attributes = { ...more, [OUTBOX_ATTRIBUTES.limit]: limit };
  return started(tracer.startSpan(OUTBOX_SPANS.dispatch, { attributes }, parent), parent);
}

export function startPublishSpan(
  tracer: Tracer,
  row: OutboxRow,
  publishParent: 'link' | 'parent',
  more: Attributes,
): StartedSpan {
  const { parent, links } = parentAndLinks(storedContext(row.headers), publishParent);
  const attributes = { ...more, ...publishAttributes(row) };
  const options = { kind: SpanKind.PRODUCER, attributes, links };
  return started(tracer.startSpan(OUTBOX_SPANS.publish, options, parent), parent);
}

/** Runs `work` inside a span and ends the span afterwards. */
export async function inSpan<T>(
  { span, context: active }: StartedSpan,
  work: () => Promise<T>,
  describe: (span: Span, result: T) => void,
): Promise<T> {
  try {
    const result = await context.with(active, work);
    if (span.isRecording()) describe(span, result);
    return result;
  } catch (error) {
    recordFailure(span, failureOf(error));
    throw error;
  } finally {
    span.end();
  }
}

export function describeIds(span: Span, ids: readonly string[]): void {
  const [id] = ids;
  if (ids.length === 1 && id !== undefined) span.setAttribute(OUTBOX_ATTRIBUTES.messageId, id);
}

export function describeSummary(span: Span, summary: DispatchSummary): void {
  const { fetched, dispatched, failed, dead, fenced } = summary;
  span.setAttributes({
    [OUTBOX_ATTRIBUTES.fetched]: fetched,
    [OUTBOX_ATTRIBUTES.dispatched]: dispatched,
    [OUTBOX_ATTRIBUTES.failed]: failed,
    [OUTBOX_ATTRIBUTES.dead]: dead,
    [OUTBOX_ATTRIBUTES.fenced]: fenced,
  });
  if (failed + dead > 0)
    span.setStatus({ code: SpanStatusCode.ERROR, message: `${failed} failed, ${dead} dead` });
}

function started(span: Span, parent: Context): StartedSpan {
  return { span, context: trace.setSpan(parent, span) };
}

/** Both the enqueuing span and the dispatch span lead to a publish: one becomes its parent, the other a link. */
function parentAndLinks(
  stored: StoredContext,
  publishParent: 'link' | 'parent',
): { parent: Context; links: Link[] } {
  const active = context.active();
  const withBaggage = stored.baggage ? propagation.setBaggage(active, stored.baggage) : active;
  if (!stored.span) return { parent: withBaggage, links: [] };
  if (publishParent === 'link') return { parent: withBaggage, links: [{ context: stored.span }] };
  const dispatch = trace.getSpanContext(active);
  return {
    parent: trace.setSpanContext(withBaggage, stored.span),
    links: dispatch ? [{ context: dispatch }] : [],
  };
}

/** Entries are not validated yet, so a topic may be anything. */
function enqueueAttributes(entries: readonly OutboxEntry[]): Attributes {
  const topics = [...new Set<unknown>(entries.map(({ topic }) => topic))].filter(
    (topic) => typeof topic === 'string',
  );
  const [topic] = topics;
  return {
    [OUTBOX_ATTRIBUTES.entryCount]: entries.length,
    ...(topics.length === 1 && topic !== undefined
      ? { [OUTBOX_ATTRIBUTES.topic]: topic, [OUTBOX_ATTRIBUTES.destination]: topic }
      : { [OUTBOX_ATTRIBUTES.topics]: topics.slice(0, MAX_TOPICS) }),
    [OUTBOX_ATTRIBUTES.system]: MESSAGING_SYSTEM,
    [OUTBOX_ATTRIBUTES.operationName]: 'enqueue',
    [OUTBOX_ATTRIBUTES.operationType]: 'create',
    ...(entries.length > 1 && { [OUTBOX_ATTRIBUTES.batchMessageCount]: entries.length }),
  };
}

function publishAttributes({ id, topic, attempts }: OutboxRow): Attributes {
  return {
    [OUTBOX_ATTRIBUTES.rowId]: id,
    [OUTBOX_ATTRIBUTES.topic]: topic,
    [OUTBOX_ATTRIBUTES.attempts]: attempts,
    [OUTBOX_ATTRIBUTES.system]: MESSAGING_SYSTEM,
    [OUTBOX_ATTRIBUTES.operationName]: 'publish',
    [OUTBOX_ATTRIBUTES.operationType]: 'send',
    [OUTBOX_ATTRIBUTES.destination]: topic,
    [OUTBOX_ATTRIBUTES.messageId]: id,
  };
}

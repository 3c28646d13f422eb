import {
  type Baggage,
  type Context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  type TextMapGetter,
  trace,
} from '@opentelemetry/api';
import type { OutboxEntry } from '@postcommit/core';
import type { OutboxHeaders } from '@postcommit/core/internal';

/** The context stored with a row when it was enqueued. */
export interface StoredContext {
  readonly span: SpanContext | undefined;
  readonly baggage: Baggage | undefined;
}

/** Handled separately: baggage may change on the way, while the other headers together identify one span. */
const BAGGAGE = 'baggage';
/** The core's limit for all headers of an entry. */
const MAX_HEADERS_BYTES = 65_536;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Reads header names case-insensitively, because the headers may come from an HTTP request or a broker. */
const anyCase: TextMapGetter<OutboxHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) =>
    headers[name] ?? Object.entries(headers).find(([own]) => own.toLowerCase() === name.toLowerCase())?.[1],
};

/**
 * Returns the entries with `context` in their headers. A header that the caller set takes precedence. If there is
 * nothing to add, returns the same list.
 */
export function withTraceContext(entries: readonly OutboxEntry[], context: Context): readonly OutboxEntry[] {
  const carried = injected(context);
  if (Object.keys(carried).length === 0) return entries;
  const fields = fieldNames();
  return entries.map((entry) => withHeaders(entry, carried, fields));
}

export function storedContext(headers: OutboxHeaders): StoredContext {
  const stored = propagation.extract(ROOT_CONTEXT, headers, anyCase);
  const span = trace.getSpanContext(stored);
  return {
    span: span && isSpanContextValid(span) ? span : undefined,
    baggage: propagation.getBaggage(stored),
  };
}

/**
 * Returns headers that identify the span of `context` instead of the stored one. All stored trace headers are removed,
 * because a `tracestate` must belong to its `traceparent`.
 */
export function headersForPublisher(headers: OutboxHeaders, context: Context): OutboxHeaders {
  const carried = injected(context);
  if (Object.keys(carried).length === 0) return headers;
  const fields = fieldNames();
  const kept = Object.entries(headers).filter(([name]) => !fields.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...carried };
}

/** Only what the core allows in headers: telemetry must not make a valid entry invalid. */
function injected(context: Context): Record<string, string> {
  const carrier: Record<string, string> = {};
  propagation.inject(context, carrier);
  for (const [name, value] of Object.entries(carrier)) if (!PRINTABLE.test(value)) delete carrier[name];
  return carrier;
}

function fieldNames(): ReadonlySet<string> {
  return new Set(propagation.fields().map((name) => name.toLowerCase()));
}

function withHeaders(entry: OutboxEntry, carried: OutboxHeaders, fields: ReadonlySet<string>): OutboxEntry {
  const { headers } = entry;
  if (headers === undefined) return { ...entry, headers: carried };
  // The core rejects it right after this, with the reason.
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return entry;
  const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const hasSpan = [...own].some((name) => name !== BAGGAGE && fields.has(name));
  const added = Object.entries(carried).filter(([name]) => (name === BAGGAGE ? !own.has(name) : !hasSpan));
  const all = { ...headers, ...Object.fromEntries(added) };
  return added.length === 0 || bytesOf(all) > MAX_HEADERS_BYTES ? entry : { ...entry, headers: all };
}

function bytesOf(headers: OutboxHeaders): number {
  return Object.entries(headers).reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);
}

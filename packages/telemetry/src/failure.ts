import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { errorText } from '@postcommit/core/internal';
import { OUTBOX_ATTRIBUTES } from './attributes.js';

/** What telemetry records of an error: no stack, cause or other field, because any of them may contain a payload. */
export interface Failure {
  /** The error's code, or otherwise its name. Low cardinality. */
  readonly type: string;
  readonly message: string;
}

/** The semantic conventions' value for an error without a type. */
const OTHER = '_OTHER';
const TYPE_PATTERN = /^[\w.$:-]{1,64}$/;

export function failureOf(thrown: unknown): Failure {
  try {
    if (typeof thrown === 'string') return { type: OTHER, message: errorText(thrown) };
    const { code, name, message } = fieldsOf(thrown);
    const type = [code, name].find((value) => typeof value === 'string' && TYPE_PATTERN.test(value));
    const text =
      typeof message === 'string' && message !== '' ? errorText(message) : 'an error without a message';
    return { type: type === undefined ? OTHER : String(type), message: text };
  } catch {
    return { type: OTHER, message: 'an error that could not be read' };
  }
}

export function recordFailure(span: Span, { type, message }: Failure): void {
  span.setAttribute(OUTBOX_ATTRIBUTES.errorType, type);
  span.recordException({ name: type, message });
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

function fieldsOf(thrown: unknown): { code?: unknown; name?: unknown; message?: unknown } {
  return typeof thrown === 'object' && thrown !== null ? thrown : {};
}

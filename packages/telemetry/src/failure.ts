import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { errorText } from '@postcommit/core';
import { OUTBOX_ATTRIBUTES } from './attributes.js';

/** What telemetry tells of an error: no stack, no cause, no other field, since any of them may hold a payload. */
export interface Failure {
  /** Few values: the error's code, or else its name. */
  readonly type: string;
  readonly message: string;
}

/** The word of the conventions for an error that has no type of its own. */
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

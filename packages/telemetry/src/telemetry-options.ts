import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api';
import { type Clock, OutboxError } from '@postcommit/core';
import {
  assertKnownOptions,
  assertTimerDelay,
  assertWholeNumber,
  type OptionNames,
  systemClock,
} from '@postcommit/core/internal';

/** The clock of the process, plus the wall-clock time to compute the lag. */
export interface TelemetryClock extends Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export interface TelemetryOptions {
  /**
   * How a publish span relates to the trace that enqueued the row. `link`: it belongs to the trace of its dispatch and
   * links to the enqueuing span. `parent`: it is a child of the enqueuing span and links to its dispatch.
   *
   * @default 'link'
   */
  readonly publishParent?: 'link' | 'parent' | undefined;
  /** Added to every span and metric, e.g. the name of the outbox if one process has several. Keep cardinality low. */
  readonly attributes?: Attributes | undefined;
  /**
   * The most pending rows counted at each collection; the gauge stops there.
   *
   * @default 100_000
   */
  readonly backlogAtMost?: number | undefined;
  /**
   * How long a collection waits for the backlog before it continues without it, in milliseconds.
   *
   * @default 5_000
   */
  readonly backlogTimeoutMs?: number | undefined;
  /**
   * Creates the tracer.
   *
   * @default the global one, even if it is registered later
   */
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Creates the meter.
   *
   * @default the global one; for the backlog, the one registered when the application starts
   */
  readonly meterProvider?: MeterProvider | undefined;
  /** For tests. */
  readonly clock?: TelemetryClock | undefined;
}

export interface ResolvedTelemetryOptions {
  readonly publishParent: 'link' | 'parent';
  readonly attributes: Attributes;
  readonly backlogAtMost: number;
  readonly backlogTimeoutMs: number;
  readonly tracerProvider: TracerProvider | undefined;
  readonly meterProvider: MeterProvider | undefined;
  readonly clock: TelemetryClock;
}

const OPTION_NAMES: OptionNames<TelemetryOptions> = {
  publishParent: true,
  attributes: true,
  backlogAtMost: true,
  backlogTimeoutMs: true,
  tracerProvider: true,
  meterProvider: true,
  clock: true,
};

export function resolveTelemetryOptions(options: TelemetryOptions): ResolvedTelemetryOptions {
  assertKnownOptions('OutboxTelemetryModule', options, OPTION_NAMES);
  const resolved = {
    publishParent: options.publishParent ?? 'link',
    attributes: options.attributes ?? {},
    backlogAtMost: options.backlogAtMost ?? 100_000,
    backlogTimeoutMs: options.backlogTimeoutMs ?? 5_000,
    tracerProvider: options.tracerProvider,
    meterProvider: options.meterProvider,
    clock: options.clock ?? { ...systemClock, now: Date.now },
  };
  assertTelemetryOptions(resolved);
  return resolved;
}

function assertTelemetryOptions(options: ResolvedTelemetryOptions): void {
  const { publishParent, backlogAtMost, backlogTimeoutMs } = options;
  if (publishParent !== 'link' && publishParent !== 'parent')
    throw new OutboxError(
      'INVALID_CONFIG',
      `publishParent must be 'link' or 'parent', got '${String(publishParent)}'`,
    );
  assertWholeNumber('backlogAtMost', backlogAtMost);
  assertTimerDelay('backlogTimeoutMs', backlogTimeoutMs);
}

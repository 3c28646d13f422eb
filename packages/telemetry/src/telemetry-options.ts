import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api';
import { assertKnownOptions, type Clock, type OptionNames, OutboxError, systemClock } from '@postcommit/core';

/** The process's clock, and the time of day for the lag. */
export interface TelemetryClock extends Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export interface TelemetryOptions {
  /**
   * How a publish span belongs to the trace that enqueued the row. `link` (the default): it stands in the trace of
   * its dispatch and links to the enqueuing span. `parent`: it is a child of the enqueuing span and links to its dispatch.
   */
  readonly publishParent?: 'link' | 'parent' | undefined;
  /** Added to every span and metric. Name the outbox here where one process has several. Few values only. */
  readonly attributes?: Attributes | undefined;
  /** Up to how many pending rows are counted at each collection. Default 100,000: the gauge stops there. */
  readonly backlogAtMost?: number | undefined;
  /** How long a collection waits for the backlog before it goes on without. Default 5 s. */
  readonly backlogTimeoutMs?: number | undefined;
  /** Default: the global one, also when it is set later. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the global one; for the backlog, the one that is set when the application starts. */
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
  const problem = problemOf(resolved);
  if (problem) throw new OutboxError('INVALID_CONFIG', problem);
  return resolved;
}

function problemOf(options: ResolvedTelemetryOptions): string | undefined {
  const { publishParent, backlogAtMost, backlogTimeoutMs } = options;
  if (publishParent !== 'link' && publishParent !== 'parent')
    return `publishParent must be 'link' or 'parent', got '${String(publishParent)}'`;
  if (!(Number.isInteger(backlogAtMost) && backlogAtMost >= 1))
    return `backlogAtMost must be a whole number from 1, got ${String(backlogAtMost)}`;
  // A longer one does not fit a timer, which would then fire at once.
  if (!(backlogTimeoutMs >= 1 && backlogTimeoutMs < 2 ** 31))
    return `backlogTimeoutMs must be at least 1 and below 2^31, got ${String(backlogTimeoutMs)}`;
  return undefined;
}

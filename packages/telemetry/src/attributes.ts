/** The instrumentation scope of every span and metric. */
export const TELEMETRY_SCOPE = '@postcommit/telemetry';

/** The value of `messaging.system`: the outbox itself, whichever broker the publisher uses. */
export const MESSAGING_SYSTEM = 'postcommit';

export const OUTBOX_SPANS = {
  enqueue: 'outbox enqueue',
  dispatch: 'outbox dispatch',
  publish: 'outbox publish',
} as const;

/** Postcommit's own names first, then those of the OpenTelemetry semantic conventions. */
export const OUTBOX_ATTRIBUTES = {
  entryCount: 'outbox.entry_count',
  topic: 'outbox.topic',
  topics: 'outbox.topics',
  limit: 'outbox.limit',
  fetched: 'outbox.fetched',
  dispatched: 'outbox.dispatched',
  failed: 'outbox.failed',
  dead: 'outbox.dead',
  deadReason: 'outbox.dead_reason',
  fenced: 'outbox.fenced',
  unavailableDestination: 'outbox.destination',
  rowId: 'outbox.row_id',
  attempts: 'outbox.attempts',
  system: 'messaging.system',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  messageId: 'messaging.message.id',
  batchMessageCount: 'messaging.batch.message_count',
  errorType: 'error.type',
} as const;

export interface MetricDefinition {
  /**
   * Ends with the unit, if it has one: the Prometheus exporter of the JavaScript SDK adds no units to names. A collector
   * does, but not a second time.
   */
  readonly name: string;
  /** UCUM. Text in braces is an annotation and never becomes part of a name. */
  readonly unit: string;
  readonly description: string;
  /** Upper bounds of a histogram's buckets, in its unit. */
  readonly buckets?: readonly number[];
}

export const OUTBOX_METRICS = {
  pending: { name: 'outbox.pending', unit: '{row}', description: 'Rows waiting to be published.' },
  oldestPendingAge: {
    name: 'outbox.oldest_pending.age_seconds',
    unit: 's',
    description: 'How long the oldest due row has been due.',
  },
  backlogFailures: {
    name: 'outbox.backlog.failures',
    unit: '{read}',
    description: 'How often the backlog could not be read.',
  },
  dispatched: {
    name: 'outbox.dispatched',
    unit: '{row}',
    description: 'Rows published and recorded as dispatched.',
  },
  failed: { name: 'outbox.failed', unit: '{row}', description: 'Failed attempts that will be retried.' },
  dead: { name: 'outbox.dead', unit: '{row}', description: 'Rows given up, with a reason.' },
  fenced: {
    name: 'outbox.fenced',
    unit: '{row}',
    description: 'Outcomes not recorded because the claim had been lost.',
  },
  unavailable: {
    name: 'outbox.destination.unavailable',
    unit: '{destination}',
    description: '1 while a destination is away and nothing is sent to it, 0 after it is back.',
  },
  workerRunning: {
    name: 'outbox.worker.running',
    unit: '{worker}',
    description: 'Whether the worker of this process runs: 1, or 0 after it has stopped.',
  },
  publishDuration: {
    name: 'outbox.publish.duration_seconds',
    unit: 's',
    description: 'How long one attempt to publish a row took.',
    // Those of messaging.client.operation.duration in the semantic conventions.
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  },
  dispatchLag: {
    name: 'outbox.dispatch.lag_seconds',
    unit: 's',
    description: 'From the time a row was due to the start of its publish.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
  },
} as const satisfies Record<string, MetricDefinition>;

import {
  type EnqueuePipeline,
  OutboxPublisher,
  type OutboxRow,
  PermanentError,
  type PublishContext,
} from '@postcommit/core';
import { type EventBus, ListenersFailedError } from '@postcommit/publisher-events';
import type { NoListenerCounter } from './no-listener-counter.js';
import type { ScheduleEnvelope } from './schedule-envelope.js';
import { ScheduleArrived } from './schedule-events.js';
import { envelopeOf } from './schedule-row.js';

/** Publishes scheduled rows as `ScheduleArrived`. All listeners run; if one fails, the attempt fails. */
export class SchedulePublisher extends OutboxPublisher {
  readonly #bus: Pick<EventBus, 'publish'>;
  readonly #pipeline: EnqueuePipeline;
  readonly #noListener: NoListenerCounter;

  constructor(bus: Pick<EventBus, 'publish'>, pipeline: EnqueuePipeline, noListener: NoListenerCounter) {
    super();
    this.#bus = bus;
    this.#pipeline = pipeline;
    this.#noListener = noListener;
  }

  async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    const envelope = envelopeOf(row);
    if (!envelope) throw undecodable('the row is marked as a schedule, but its payload is not a schedule');
    await this.#assertFits(envelope);
    const delivery = await this.#bus.publish(new ScheduleArrived(row.id, envelope, context));
    if (delivery.failures.length > 0) throw new ListenersFailedError(delivery);
    if (delivery.listeners === 0) this.#noListener.count({ scheduledJobId: row.id, topic: envelope.topic });
  }

  /** A schedule may be months older than the type of its payload. */
  async #assertFits({ topic, payload }: ScheduleEnvelope): Promise<void> {
    const problem = await this.#pipeline.schemaProblem(topic, payload);
    if (problem !== undefined) throw undecodable(`payload of topic '${topic}': ${problem}`);
  }
}

function undecodable(problem: string): PermanentError {
  return new PermanentError(problem, { reason: 'undecodable' });
}

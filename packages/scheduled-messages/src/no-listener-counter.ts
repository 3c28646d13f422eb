import type { OutboxCounter } from '@postcommit/core/internal';
import { errorText, nameToken } from '@postcommit/core/internal';

/** The name under which `@postcommit/telemetry` exports the counter. */
export const NO_LISTENER_METRIC = 'app_schedule_job_no_listener_total';

/** A schedule that arrived without a listener for its topic. */
export interface NoListener {
  readonly scheduledJobId: string;
  readonly topic: string;
}

export type OnNoListener = (schedule: NoListener) => void;

/**
 * Counts the schedules that arrived in this process without a listener. Without `onNoListener`, each also becomes a
 * process warning.
 */
export class NoListenerCounter implements OutboxCounter {
  static {
    nameToken(this, '@postcommit/scheduled-messages/NoListenerCounter');
  }

  readonly metric = NO_LISTENER_METRIC;
  readonly unit = '{message}';
  readonly description = 'Schedules that arrived while nobody listened to their topic.';
  readonly #onNoListener: OnNoListener;
  readonly #listeners = new Set<() => void>();
  #total = 0;

  constructor(onNoListener: OnNoListener = warn) {
    this.#onNoListener = onNoListener;
  }

  /** The count since the process started. */
  get total(): number {
    return this.#total;
  }

  /** Adds a listener that is called at each count. Returns an unsubscribe function. */
  onCount(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** For the publisher. An error of `onNoListener` becomes a process warning and never fails the schedule. */
  count(schedule: NoListener): void {
    this.#total += 1;
    for (const listener of this.#listeners) listener();
    try {
      this.#onNoListener(schedule);
    } catch (error) {
      process.emitWarning(`onNoListener failed: ${errorText(error)}`, 'OutboxWarning');
    }
  }
}

function warn({ scheduledJobId, topic }: NoListener): void {
  process.emitWarning(
    `no listener of ScheduleArrived for topic '${topic}': schedule ${scheduledJobId} completed without one`,
    'OutboxWarning',
  );
}

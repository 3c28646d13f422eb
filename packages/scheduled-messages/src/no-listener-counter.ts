import { errorText, nameToken, type OutboxCounter } from '@postcommit/core';

/** The name under which `@postcommit/telemetry` exports the counter. */
export const NO_LISTENER_METRIC = 'app_schedule_job_no_listener_total';

/** A schedule that arrived while nobody listened to its topic. */
export interface NoListener {
  readonly scheduledJobId: string;
  readonly topic: string;
}

export type OnNoListener = (told: NoListener) => void;

/**
 * Counts the schedules of this process that nobody heard. Where `onNoListener` is not given, each is a process warning
 * too, so that it can't go unnoticed.
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

  /** Since the process began. */
  get total(): number {
    return this.#total;
  }

  onCount(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** For the publisher. A hook that fails is reported, and never fails the schedule. */
  count(told: NoListener): void {
    this.#total += 1;
    for (const listener of this.#listeners) listener();
    try {
      this.#onNoListener(told);
    } catch (error) {
      process.emitWarning(`onNoListener failed: ${errorText(error)}`, 'OutboxWarning');
    }
  }
}

function warn({ scheduledJobId, topic }: NoListener): void {
  process.emitWarning(
    `no listener of ScheduleArrived for topic '${topic}': schedule ${scheduledJobId} completed unheard`,
    'OutboxWarning',
  );
}

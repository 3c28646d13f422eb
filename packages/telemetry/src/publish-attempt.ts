import type { Span } from '@opentelemetry/api';
import type { AbortWatch } from './abort-watch.js';
import { type Failure, failureOf, recordFailure } from './failure.js';
import type { OutboxInstruments } from './metrics.js';
import type { TelemetryClock } from './telemetry-options.js';

/** Measures one attempt to publish one row. It ends once; anything later changes nothing. */
export class PublishAttempt {
  readonly #topic: string;
  readonly #span: Span | undefined;
  readonly #instruments: OutboxInstruments | undefined;
  readonly #clock: TelemetryClock;
  readonly #startedMs: number;
  #ended = false;

  constructor(
    topic: string,
    span: Span | undefined,
    instruments: OutboxInstruments | undefined,
    clock: TelemetryClock,
  ) {
    this.#topic = topic;
    this.#span = span;
    this.#instruments = instruments;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /**
   * Runs the publish. When the signal aborts, the attempt ends as failed even if the publisher continues: its row is
   * settled as failed, and a publisher that hangs would otherwise never be reported.
   */
  async run(publish: () => Promise<void>, signal: AbortSignal, aborts: AbortWatch): Promise<void> {
    const unwatch = aborts.watch(signal, () => this.#end(failureOf(signal.reason)));
    try {
      await publish();
      this.#end(undefined);
    } catch (error) {
      this.#end(failureOf(error));
      throw error;
    } finally {
      unwatch();
    }
  }

  #end(failure: Failure | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    if (failure && this.#span) recordFailure(this.#span, failure);
    this.#span?.end();
    const durationSeconds = (this.#clock.monotonicMs() - this.#startedMs) / 1_000;
    this.#instruments?.publishEnded(this.#topic, durationSeconds, failure?.type);
  }
}

import { OutboxError } from '../message/errors.js';
import { assertKnownOptions } from '../message/known-options.js';
import { assertDuration, assertWholeNumber } from '../message/option-checks.js';
import { type Clock, systemClock } from '../runtime/timing.js';
import type { DispatchEvents } from './dispatch-events.js';
import type { FailureThreshold } from './failure-count.js';

const BUCKETS = 60;
/** Topics to remember: those that failed most recently. */
const MAX_TOPICS = 1_000;

/**
 * Emits `failures` when a topic has too many failed publishes or dead rows: once, and again only after the count has
 * been below the threshold. Counts this process only.
 */
export class FailureWatch {
  readonly #events: DispatchEvents;
  readonly #limit: FailureThreshold;
  readonly #clock: Clock;
  readonly #topics = new Map<string, TopicFailures>();

  constructor(events: DispatchEvents, limit: FailureThreshold, clock: Clock = systemClock) {
    this.#events = events;
    this.#limit = limit;
    this.#clock = clock;
    events.on('failed', ({ row }) => this.#failed(row.topic));
    events.on('dead', ({ row }) => this.#failed(row.topic));
  }

  #failed(topic: string): void {
    const { threshold, windowMs } = this.#limit;
    const failures = this.#failuresOf(topic);
    failures.moveTo(Math.floor((this.#clock.monotonicMs() * BUCKETS) / windowMs));
    // The count only falls between two failures, so it is enough to check it here.
    if (failures.count < threshold) failures.isReported = false;
    failures.add();
    if (failures.count <= threshold || failures.isReported) return;
    failures.isReported = true;
    this.#events.emit('failures', { topic, count: failures.count, windowMs, threshold });
  }

  #failuresOf(topic: string): TopicFailures {
    const failures = this.#topics.get(topic) ?? new TopicFailures();
    // A Map keeps insertion order: move the topic that failed last to the end.
    this.#topics.delete(topic);
    this.#topics.set(topic, failures);
    const [longestAgo] = this.#topics.keys();
    if (this.#topics.size > MAX_TOPICS && longestAgo !== undefined) this.#topics.delete(longestAgo);
    return failures;
  }
}

/** A ring buffer of counts. The oldest are cleared as time moves on. */
class TopicFailures {
  isReported = false;
  readonly #counts = new Uint32Array(BUCKETS);
  #bucket = 0;

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  moveTo(bucket: number): void {
    const first = Math.max(this.#bucket + 1, bucket - BUCKETS + 1);
    for (let passed = first; passed <= bucket; passed++) this.#counts[passed % BUCKETS] = 0;
    this.#bucket = bucket;
  }

  add(): void {
    const index = this.#bucket % BUCKETS;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }
}

const HOOK_NAMES = { threshold: true, windowMs: true, notify: true } as const;

/** Throws `INVALID_CONFIG` for an invalid `onFailures`. */
export function assertFailureHook(hook: FailureThreshold & { readonly notify: unknown }): void {
  assertKnownOptions('OutboxModule: onFailures', hook, HOOK_NAMES);
  const { threshold, windowMs, notify } = hook;
  assertWholeNumber('OutboxModule: onFailures.threshold', threshold);
  assertDuration('OutboxModule: onFailures.windowMs', windowMs);
  if (typeof notify !== 'function') throw invalid(`notify must be a function, got ${typeof notify}`);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `OutboxModule: onFailures.${problem}`);
}

import { OutboxError } from '../message/errors.js';
import { type Clock, systemClock } from '../modules/clock.js';
import type { DispatchEvents } from './dispatch-events.js';
import type { FailureThreshold } from './failure-count.js';

const BUCKETS = 60;
/** The topics that are remembered: those that failed last. */
const MAX_TOPICS = 1_000;

/**
 * Emits `failures` when too many tries of a topic failed, or rows of it died: once, and again only after their number
 * has been below the threshold. Counts what this process did.
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
    // Between two failures the number only falls, so this is the time to see that it did.
    if (failures.count < threshold) failures.isTold = false;
    failures.add();
    if (failures.count <= threshold || failures.isTold) return;
    failures.isTold = true;
    this.#events.emit('failures', { topic, count: failures.count, windowMs, threshold });
  }

  #failuresOf(topic: string): TopicFailures {
    const failures = this.#topics.get(topic) ?? new TopicFailures();
    // A Map keeps the order of insertion: the topic that failed last goes to its end.
    this.#topics.delete(topic);
    this.#topics.set(topic, failures);
    const [longestAgo] = this.#topics.keys();
    if (this.#topics.size > MAX_TOPICS && longestAgo !== undefined) this.#topics.delete(longestAgo);
    return failures;
  }
}

/** A ring of counts, the oldest of which are cleared as time goes on. */
class TopicFailures {
  isTold = false;
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
    const place = this.#bucket % BUCKETS;
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
  }
}

/** Refuses an invalid `onFailures`. */
export function assertFailureHook(hook: FailureThreshold & { readonly notify: unknown }): void {
  const { threshold, windowMs, notify } = hook;
  if (!(Number.isInteger(threshold) && threshold >= 1))
    throw invalid(`threshold must be a whole number from 1, got ${String(threshold)}`);
  if (!(Number.isFinite(windowMs) && windowMs >= 1))
    throw invalid(`windowMs must be at least 1, got ${String(windowMs)}`);
  if (typeof notify !== 'function') throw invalid(`notify must be a function, got ${typeof notify}`);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `OutboxModule: onFailures.${problem}`);
}

import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { History } from './history.js';
import type { Settings } from './settings.js';
import type { SimClock } from './sim-clock.js';
import type { SimProcess } from './sim-process.js';

/** Besides its poll interval, a process may take so long to hear of a pause: it asks once a second. */
const HEARS_WITHIN_MS = 1_100;

/** Checks what people ordered for topics: I13 (a paused topic rests) and I14 (a limited topic keeps its rate). */
export class PaceLedger {
  readonly #history: History;
  readonly #clock: SimClock;
  readonly #pausedMs = new Map<string, number>();
  readonly #startsMs = new Map<string, number[]>();

  constructor(history: History, clock: SimClock) {
    this.#history = history;
    this.#clock = clock;
  }

  paused(topic: string): void {
    if (!this.#pausedMs.has(topic)) this.#pausedMs.set(topic, this.#clock.elapsedMs);
  }

  resumed(topic: string): void {
    this.#pausedMs.delete(topic);
  }

  publishStarted(process: SimProcess, settings: Settings, rows: readonly OutboxRow[]): void {
    for (const { id, topic } of rows) {
      this.#assertNotPaused(process, settings, id, topic);
      this.#assertInRate(process, settings, id, topic);
    }
  }

  #assertNotPaused(process: SimProcess, { pollIntervalMs }: Settings, id: string, topic: string): void {
    const pausedMs = this.#pausedMs.get(topic);
    if (pausedMs === undefined) return;
    this.#history.note(process.name, 'publishes before it hears of a pause', () => id);
    const hasHeard =
      this.#clock.elapsedMs - Math.max(pausedMs, process.bornMs) > pollIntervalMs + HEARS_WITHIN_MS;
    if (hasHeard && process.wasWellSince(pausedMs))
      this.#history.violated('I13', `${process.name} published ${id}, whose topic is paused`);
  }

  #assertInRate(process: SimProcess, { rateLimit }: Settings, id: string, topic: string): void {
    const limit = rateLimit?.[topic];
    if (!limit) return;
    const nowMs = this.#clock.elapsedMs;
    const key = `${process.name} ${topic}`;
    const lastSecond = [...(this.#startsMs.get(key) ?? []).filter((ms) => ms > nowMs - 1_000), nowMs];
    this.#startsMs.set(key, lastSecond);
    const atOnce = Math.max(1, limit.perSecond / 10);
    if (lastSecond.length > limit.perSecond + atOnce)
      this.#history.violated(
        'I14',
        `${process.name} published ${id}, the ${lastSecond.length}th in a second`,
      );
    else if (lastSecond.length >= limit.perSecond) this.#history.note(process.name, 'reaches its rate');
  }
}

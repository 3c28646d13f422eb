import type { OutboxRow } from '../message/outbox-row.js';
import type { Random } from '../message/retry-policy.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { Clock } from '../runtime/timing.js';
import { Breaker, type Outage } from './breaker.js';
import type { OutboxPublisher } from './outbox-publisher.js';
import { finalPublisher, RoutedPublisher } from './publisher-routes.js';

/** A claim leaves out at most this many topics. Rows of any others are claimed and released. */
const MAX_TOPICS = 500;
/** Destinations of one publisher that are remembered while they are available. */
const MAX_IDLE_DESTINATIONS = 1_000;

/** Where a row is to be sent. */
export interface RowTarget {
  readonly publisher: OutboxPublisher;
  readonly breaker: Breaker;
}

/** Knows which destinations are away. Shared by all batches of a dispatcher or worker. */
export class Availability {
  readonly #publisher: OutboxPublisher;
  readonly #newBreaker: (destination: string) => Breaker;
  /** One for each publisher whose rows stop together. */
  readonly #breakers = new Map<OutboxPublisher, Breaker>();
  /** One for each destination, for publishers that name one for each row. */
  readonly #finerBreakers = new Map<OutboxPublisher, Map<string, Breaker>>();
  /** Topics whose rows were refused, with the publisher-wide breaker that refused them. */
  readonly #topics = new Map<string, Breaker>();
  /** Set if every row has the same destination. */
  readonly #only: RowTarget | undefined;

  constructor(publisher: OutboxPublisher, events: DispatchEvents, clock: Clock, random: Random) {
    this.#publisher = publisher;
    this.#newBreaker = (destination) => new Breaker(destination, events, clock, random);
    if (publisher instanceof RoutedPublisher || publisher.destinationOf) return;
    this.#only = { publisher, breaker: this.#breakerOf(publisher, 'publisher') };
  }

  /** A route or `destinationOf` that throws is left to `publish`, where it throws again and fails only this row. */
  targetOf(row: OutboxRow): RowTarget {
    if (this.#only) return this.#only;
    try {
      const { publisher, name } = finalPublisher(this.#publisher, row);
      const destination = publisher.destinationOf?.(row);
      const breaker =
        destination === undefined ? this.#breakerOf(publisher, name) : this.#finerOf(publisher, destination);
      return { publisher, breaker };
    } catch {
      return { publisher: this.#publisher, breaker: this.#breakerOf(this.#publisher, 'publisher') };
    }
  }

  /** The breaker has refused a row of this topic: until its next try, claims leave the topic out. */
  refused({ topic }: OutboxRow, { publisher, breaker }: RowTarget): void {
    if (publisher.destinationOf || this.#only || this.#topics.size >= MAX_TOPICS) return;
    this.#topics.set(topic, breaker);
  }

  /** How long nothing at all can be sent. */
  get waitMs(): number {
    return this.#only?.breaker.waitMs ?? 0;
  }

  /** How many of these rows make sense to claim: a destination that may be back is tried with one. */
  limit(limit: number): number {
    return this.#only?.breaker.isTrying ? Math.min(limit, 1) : limit;
  }

  /** The topics that a claim now should leave out. */
  topicsAway(): string[] {
    if (this.#topics.size === 0) return [];
    for (const [topic, breaker] of this.#topics) if (breaker.waitMs === 0) this.#topics.delete(topic);
    return [...this.#topics.keys()];
  }

  /** The destinations that are away. */
  outages(): Outage[] {
    const finer = [...this.#finerBreakers.values()].flatMap((breakers) => [...breakers.values()]);
    return [...this.#breakers.values(), ...finer].flatMap(({ outage }) => outage ?? []);
  }

  #breakerOf(publisher: OutboxPublisher, name: string): Breaker {
    const known = this.#breakers.get(publisher);
    if (known) return known;
    const breaker = this.#newBreaker(name);
    this.#breakers.set(publisher, breaker);
    return breaker;
  }

  #finerOf(publisher: OutboxPublisher, destination: string): Breaker {
    const breakers = this.#finerBreakers.get(publisher) ?? new Map<string, Breaker>();
    this.#finerBreakers.set(publisher, breakers);
    const breaker = breakers.get(destination) ?? this.#newBreaker(destination);
    // A Map keeps insertion order: move the one just used to the end.
    breakers.delete(destination);
    breakers.set(destination, breaker);
    if (breakers.size > MAX_IDLE_DESTINATIONS) forgetIdle(breakers);
    return breaker;
  }
}

/** Forgets the least recently used destination that is available. */
function forgetIdle(breakers: Map<string, Breaker>): void {
  for (const [destination, { outage }] of breakers) {
    if (outage) continue;
    breakers.delete(destination);
    return;
  }
}

/** What is known of the pauses is asked for again after this time, if it is needed. */
const FRESH_MS = 1_000;

/** The topics that are paused in all processes, as this one last heard. */
export class PausedTopics {
  readonly #ask: () => Promise<unknown>;
  readonly #clock: Clock;
  #topics: ReadonlySet<string> = new Set();
  #knownSinceMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  /** `ask` fetches the topics and passes them to `are`. */
  constructor(ask: () => Promise<unknown>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  get isKnown(): boolean {
    return this.#knownSinceMs !== Number.NEGATIVE_INFINITY;
  }

  get isFresh(): boolean {
    return this.#clock.monotonicMs() - this.#knownSinceMs < FRESH_MS;
  }

  get list(): string[] {
    return [...this.#topics];
  }

  are(topics: readonly string[]): void {
    this.#topics = new Set(topics);
    this.#knownSinceMs = this.#clock.monotonicMs();
  }

  /** Also asks again now and then: a worker that publishes a slow batch would not hear of a pause for long. */
  has(topic: string): boolean {
    if (!this.isFresh) this.#refresh();
    return this.#topics.has(topic);
  }

  #refresh(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#ask()
      // The next row asks again. Whether the store answers is the claims' and settles' business.
      .catch(() => {})
      .finally(() => {
        this.#isAsking = false;
      });
  }
}

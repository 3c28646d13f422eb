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
/** While destinations of topics may be back, a row is claimed for a try this often; other claims leave them out. */
const TRY_EVERY_MS = 100;
/** Rows of destinations that claims can't leave out are claimed in vain at most this often, once all are put off. */
const PUT_OFF_PER_SECOND = 500;

/** Where a row is to be sent. */
export interface RowTarget {
  readonly publisher: OutboxPublisher;
  readonly breaker: Breaker;
}

/** What a claim may ask for. */
export interface ClaimPlan {
  readonly limit: number;
  readonly exceptTopics: readonly string[];
}

/** Knows which destinations are away. Shared by all batches of a dispatcher or worker. */
export class Availability {
  readonly #publisher: OutboxPublisher;
  readonly #clock: Clock;
  readonly #newBreaker: (destination: string) => Breaker;
  /** One for each publisher whose rows stop together. */
  readonly #breakers = new Map<OutboxPublisher, Breaker>();
  /** One for each destination, for publishers that name one for each row. */
  readonly #finerBreakers = new Map<OutboxPublisher, Map<string, Breaker>>();
  /** Topics whose rows were refused by a publisher-wide breaker. */
  readonly topics: TopicsAway;
  /** Set if every row has the same destination. */
  readonly #only: RowTarget | undefined;
  #workers = 1;
  /** When the row that was put off last falls due, if not for its destination. */
  #putOffUntilMs = Number.NEGATIVE_INFINITY;

  constructor(publisher: OutboxPublisher, events: DispatchEvents, clock: Clock, random: Random) {
    this.#publisher = publisher;
    this.#clock = clock;
    this.topics = new TopicsAway(clock);
    const options = { events, clock, random, workers: () => this.#workers };
    this.#newBreaker = (destination) => new Breaker(destination, options);
    if (publisher instanceof RoutedPublisher || publisher.destinationOf) return;
    this.#only = { publisher, breaker: this.#breakerOf(publisher, publisher.name ?? 'publisher') };
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
      return {
        publisher: this.#publisher,
        breaker: this.#breakerOf(this.#publisher, this.#publisher.name ?? 'publisher'),
      };
    }
  }

  /** So many workers share the outbox, this one included. */
  sharedBy(workers: number): void {
    this.#workers = workers;
  }

  /**
   * The breaker has refused a row. Returns how long the row must wait. Claims leave its topic out until the destination
   * is back, or the row is put off.
   */
  refused({ topic }: OutboxRow, { publisher, breaker }: RowTarget): number {
    if (publisher.destinationOf) return Math.max(breaker.releaseMs, this.#putOffMs());
    if (!this.#only) this.topics.refused(topic, breaker);
    return breaker.releaseMs;
  }

  /** How long nothing at all can be sent. */
  get waitMs(): number {
    return this.#only?.breaker.waitMs ?? 0;
  }

  /** How many of these rows make sense to claim: a destination that may be back is tried with one. */
  limit(limit: number): number {
    return this.#only?.breaker.isTrying ? Math.min(limit, 1) : limit;
  }

  /** The destinations that are away. */
  outages(): Outage[] {
    const finer = [...this.#finerBreakers.values()].flatMap((breakers) => [...breakers.values()]);
    return [...this.#breakers.values(), ...finer].flatMap(({ outage }) => outage ?? []);
  }

  #putOffMs(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#putOffUntilMs = Math.max(this.#putOffUntilMs, nowMs) + 1_000 / PUT_OFF_PER_SECOND;
    // Together, to be claimed together.
    return Math.ceil(Math.ceil(this.#putOffUntilMs / 1_000) * 1_000 - nowMs);
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

/** The topics that claims leave out because their destination is away, or is tried with another row. */
export class TopicsAway {
  readonly #clock: Clock;
  readonly #topics = new Map<string, Breaker>();
  #nextTryAtMs = Number.NEGATIVE_INFINITY;
  /** Whether the last claim left out topics whose destination may be back. */
  #leftOut = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  refused(topic: string, breaker: Breaker): void {
    if (this.#topics.size < MAX_TOPICS) this.#topics.set(topic, breaker);
  }

  /** The topics that a claim now should leave out; and its limit, if it is to find a row for a try. */
  plan(limit: number): ClaimPlan {
    for (const [topic, { isTrying }] of this.#topics) if (!isTrying) this.#topics.delete(topic);
    const mayBeBack = [...this.#topics.values()].some(({ waitMs }) => waitMs === 0);
    const nowMs = this.#clock.monotonicMs();
    const isTry = mayBeBack && nowMs >= this.#nextTryAtMs;
    this.#leftOut = mayBeBack && !isTry;
    if (!isTry) return { limit, exceptTopics: [...this.#topics.keys()] };
    this.#nextTryAtMs = nowMs + TRY_EVERY_MS;
    const away = [...this.#topics].filter(([, { waitMs }]) => waitMs > 0);
    return { limit: Math.min(limit, 1), exceptTopics: away.map(([topic]) => topic) };
  }

  /** How long to wait at most before the next claim, for a row that the last one left out. */
  get tryInMs(): number {
    if (!this.#leftOut) return Number.POSITIVE_INFINITY;
    return Math.max(1, Math.ceil(this.#nextTryAtMs - this.#clock.monotonicMs()));
  }
}

/** What is known of the pauses is asked for again after this time, if it is needed. */
const FRESH_MS = 1_000;

/** The topics that are paused in all processes, as this one last heard. */
export class PausedTopics {
  readonly #ask: () => Promise<unknown>;
  readonly #clock: Clock;
  readonly #staleAfterMs: number;
  #topics: ReadonlySet<string> = new Set();
  #knownSinceMs = Number.NEGATIVE_INFINITY;
  /** Whether a question has no answer yet, or failed. */
  #isUnanswered = false;
  #asking: Promise<void> | undefined;

  /** `ask` fetches the topics and passes them to `are`. It is called anyway every `askedEveryMs` if nothing is due. */
  constructor(ask: () => Promise<unknown>, clock: Clock, askedEveryMs = 0) {
    this.#ask = ask;
    this.#clock = clock;
    this.#staleAfterMs = askedEveryMs + FRESH_MS;
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
    this.#isUnanswered = false;
  }

  /** A question was sent. */
  asked(): void {
    this.#isUnanswered = true;
  }

  /** Also asks again now and then: a worker that publishes a slow batch would not hear of a pause for long. */
  has(topic: string): boolean {
    if (!this.isFresh) void this.#refresh();
    return this.#topics.has(topic);
  }

  /**
   * What to wait for before a row is started, if too much may have changed: after a slow publish, or because the worker
   * was stopped and started again. If the store does not answer, nobody waits twice.
   */
  get freshened(): Promise<void> | undefined {
    if (this.#clock.monotonicMs() - this.#knownSinceMs <= this.#staleAfterMs) return undefined;
    return this.#asking ?? (this.#isUnanswered ? undefined : this.#refresh());
  }

  /** Never rejects: whether the store answers is the claims' and settles' business. */
  #refresh(): Promise<void> {
    this.#asking ??= this.#ask()
      .catch(() => {})
      .then(() => {
        this.#asking = undefined;
      });
    return this.#asking;
  }
}

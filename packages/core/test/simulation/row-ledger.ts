import type { OutboxState } from '../../src/message/outbox-row.js';
import type { History } from './history.js';

/** `poison` kills whoever publishes it; `misfit` does not fit the schema of its topic. */
export type RowKind = 'plain' | 'poison' | 'misfit';

/** What is known of one row, from outside the engine. */
export interface RowStory {
  readonly id: string;
  readonly key: string | undefined;
  readonly kind: RowKind;
  /** When its enqueue, or its last return to the tail, began and committed. */
  began: number;
  committed: number | undefined;
  state: OutboxState | 'staged' | 'rolled back' | 'discarded';
  /** One higher with each return to the tail. */
  turn: number;
  /** Went out since it last took its place in the line. */
  isSent: boolean;
  /** Dead, or about to be: its key continues without it. */
  hasLostItsPlace: boolean;
  wasCancelled: boolean;
  sends: number;
  /** Publishes that began since something was recorded for it. */
  startsUnrecorded: number;
  /** Claims that expired in a row: because of another row that killed the process, or for other reasons. */
  neighbourDeaths: number;
  otherExpiries: number;
}

/** Rows and their order. Holds I1 (atomic) and the first half of I5 (the order of first publishes). */
export class RowLedger {
  readonly #history: History;
  readonly #stories = new Map<string, RowStory>();
  #tick = 0;

  constructor(history: History) {
    this.#history = history;
  }

  get stories(): Iterable<RowStory> {
    return this.#stories.values();
  }

  story(id: string): RowStory {
    const story = this.#stories.get(id);
    if (!story) throw new Error(`nobody ever enqueued ${id}`);
    return story;
  }

  enqueueBegan(id: string, key: string | undefined, kind: RowKind): void {
    this.#stories.set(id, {
      id,
      key,
      kind,
      began: this.#tick++,
      committed: undefined,
      state: 'staged',
      turn: 0,
      isSent: false,
      hasLostItsPlace: false,
      wasCancelled: false,
      sends: 0,
      startsUnrecorded: 0,
      neighbourDeaths: 0,
      otherExpiries: 0,
    });
  }

  committed(id: string): void {
    const story = this.story(id);
    story.committed = this.#tick++;
    story.state = 'pending';
  }

  rolledBack(id: string): void {
    this.story(id).state = 'rolled back';
  }

  /** A message really went out. `turn`: of the row when it was claimed. */
  sent(id: string, turn: number | undefined, by: string): void {
    const story = this.story(id);
    story.sends += 1;
    this.#history.note(by, story.sends === 1 ? 'sent' : 'sent again', () => id);
    if (story.committed === undefined) {
      this.#history.violated('I1', `${id} was published, but its transaction never committed`);
      return;
    }
    // What an old publish sends after its row came back from the end is a duplicate, and has no place of its own.
    if (!story.isSent && story.turn === turn) this.#assertEldersSent(story);
    if (!story.isSent && story.turn === turn && story.hasLostItsPlace && story.state === 'pending')
      this.#history.note(by, 'sent late', () => id);
    story.isSent = true;
  }

  /** An outcome was recorded under a claim: what was counted against the row is forgotten. */
  recorded(story: RowStory, state: OutboxState): void {
    story.state = state;
    story.startsUnrecorded = 0;
    story.neighbourDeaths = 0;
    story.otherExpiries = 0;
    if (state === 'dead') story.hasLostItsPlace = true;
  }

  /** What was counted against the row stands, except for a publish that ended and was not counted. */
  released(story: RowStory, { wasPublished }: { readonly wasPublished: boolean }): void {
    story.state = 'pending';
    if (wasPublished) story.startsUnrecorded = 0;
  }

  requeued(id: string): void {
    const story = this.story(id);
    if (story.state !== 'pending') {
      story.began = this.#tick++;
      story.committed = this.#tick++;
      story.turn += 1;
      story.isSent = false;
      story.hasLostItsPlace = false;
    }
    this.recorded(story, 'pending');
  }

  cancelled(id: string): void {
    const story = this.story(id);
    story.wasCancelled = true;
    this.recorded(story, 'dead');
  }

  discarded(id: string): void {
    this.story(id).state = 'discarded';
  }

  /**
   * Whoever committed before this one began goes out first, unless it is dead. Nothing is promised for transactions
   * that overlapped.
   */
  #assertEldersSent(story: RowStory): void {
    if (story.key === undefined) return;
    for (const elder of this.#stories.values()) {
      if (elder.key !== story.key || elder.committed === undefined || elder.committed > story.began) continue;
      if (!elder.isSent && !elder.hasLostItsPlace && elder.state !== 'discarded')
        this.#history.violated('I5', `${story.id} was published before ${elder.id}, of the same key`);
    }
  }
}

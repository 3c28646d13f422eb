interface Event {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
  isCancelled: boolean;
}

/**
 * The one time of a simulated world. Unlike `VirtualClock` it keeps its events in a heap, goes to the next one by
 * itself, and counts them: a run has thousands, and there are thousands of runs.
 */
export class SimClock {
  readonly startMs = Date.parse('2026-01-01T00:00:00Z');
  readonly #heap: Event[] = [];
  #elapsedMs = 0;
  #order = 0;

  /** Since the world began. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** Milliseconds since 1970: the database's time. */
  now(): number {
    return this.startMs + this.#elapsedMs;
  }

  /** Milliseconds since 1970 as milliseconds since the world began. */
  since(timeMs: number): number {
    return timeMs - this.startMs;
  }

  /** Calls back once; of two that are due together, the first that was scheduled comes first. */
  schedule(delayMs: number, callback: () => void): () => void {
    const event = {
      dueMs: this.#elapsedMs + Math.max(0, delayMs),
      order: this.#order++,
      callback,
      isCancelled: false,
    };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /**
   * Goes to the next event and lets all that follows from it happen: a turn of the event loop runs every promise
   * that can go on. False when nothing will ever happen again.
   */
  async step(): Promise<boolean> {
    let event = this.#pop();
    while (event?.isCancelled) event = this.#pop();
    if (!event) return false;
    this.#elapsedMs = Math.max(this.#elapsedMs, event.dueMs);
    event.callback();
    await new Promise((resolve) => setImmediate(resolve));
    return true;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let place = heap.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[place] = heap[parent] as Event;
      place = parent;
    }
    heap[place] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      if (left >= heap.length) break;
      const child = left + 1 < heap.length && isBefore(heap[left + 1] as Event, heap[left]) ? left + 1 : left;
      if (isBefore(last, heap[child])) break;
      heap[place] = heap[child] as Event;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event | undefined): boolean {
  return b === undefined || a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

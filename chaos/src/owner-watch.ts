import { setTimeout as pause } from 'node:timers/promises';

const INTERVAL_MS = 75;

/**
 * I4: of the rows of one key, at most one owner's are claimed. By the clock after the snapshot: by one before it, a
 * claim that has just expired and the one that followed would look alive together.
 */
const TWO_OWNERS = `
  select claimed_key as key, count(distinct claim_token)::int as owners
  from outbox
  where claimed_key is not null and dispatched_at is null and dead_at is null and claimed_until > clock_timestamp()
  group by claimed_key
  having count(distinct claim_token) > 1`;

/** Looks again and again, from start to end of a run. */
export class OwnerWatch {
  readonly #query: (text: string) => Promise<Record<string, unknown>[]>;
  readonly #found = new Set<string>();
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(query: (text: string) => Promise<Record<string, unknown>[]>) {
    this.#query = query;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  get found(): readonly string[] {
    return [...this.#found].map((key) => `I4: two owners of the key ${key} at the same time`);
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      // A server that is away, or a table that is not there yet, has no owners.
      const rows = await this.#query(TWO_OWNERS).catch(() => []);
      for (const { key } of rows) this.#found.add(String(key));
      await pause(INTERVAL_MS, undefined, { signal: this.#stopping.signal }).catch(() => {});
    }
  }
}

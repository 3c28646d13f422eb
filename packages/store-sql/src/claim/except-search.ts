import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import { isRetaken, lastPlace } from '../row-mapping.js';
import type { SqlRecord } from '../sql-statement.js';
import type { ClaimAnswer, ClaimRunner, WindowAnswer } from './claim-runner.js';
import { isComplete, restOf } from './claim-runner.js';
import { FRONT_SEARCH_INTERVAL_MS } from './front-search.js';
import { FrontSweep } from './front-sweep.js';
import { type LookAt, MAX_WINDOWS, SkippingSearch } from './skipping-search.js';

/** Searches for rows without a key while these topics are left out. */
export class ExceptSearch {
  readonly topics: readonly string[];
  readonly #runner: Pick<ClaimRunner, 'claimUnkeyedExcept'>;
  readonly #search: SkippingSearch;
  readonly #sweep: FrontSweep;
  readonly #clock: Clock;
  /** Whether the last claim filled its batch. */
  #wasFull = false;
  /** Until then, other rows are expected among those that are left out. */
  #mixedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(topics: readonly string[], runner: Pick<ClaimRunner, 'claimUnkeyedExcept'>, clock: Clock) {
    this.topics = topics;
    this.#runner = runner;
    this.#search = new SkippingSearch(clock);
    this.#sweep = new FrontSweep(clock);
    this.#clock = clock;
  }

  /** Whether the last claim passed all rows it examined, and left some for the next one. */
  get isUnfinished(): boolean {
    return this.#search.isUnfinished;
  }

  async claim(claim: Claim): Promise<ClaimAnswer> {
    let keyedDue = false;
    const isBacklog = this.#wasFull;
    // Cleared first, so that a claim that fails leaves nothing behind.
    this.#wasFull = false;
    const rows = await this.#claim(claim, isBacklog, async (request, after) => {
      const answer = await this.#runner.claimUnkeyedExcept({
        ...request,
        exceptTopics: this.topics,
        after,
        isBacklog,
      });
      const { rows, window } = answer;
      keyedDue = answer.keyedDue;
      const end = endOf(answer, request);
      return {
        rows,
        examined: window.rows,
        end,
        passed: end,
        isEnough: isComplete(rows, request),
        mayGrow: true,
      };
    });
    this.#wasFull = rows.length === claim.limit;
    return { rows, keyedDue };
  }

  async #claim(claim: Claim, isBacklog: boolean, look: LookAt): Promise<SqlRecord[]> {
    const swept = await this.#sweep.continue(this.#search.start, claim, look);
    const rows = swept?.rows ?? [];
    if (isComplete(rows, claim) || swept?.isWhole) return rows;
    const rest = restOf(claim, rows);
    const isNarrow = isBacklog && this.#clock.monotonicMs() >= this.#mixedUntilMs;
    const first = isNarrow ? rest.limit : undefined;
    return [...rows, ...(await this.#search.claim(rest, MAX_WINDOWS, this.#watched(look, first), first))];
  }

  /**
   * In a backlog of rows of which none is left out, a window as large as the batch is enough. Where it is not, others are
   * among them, or someone else claims here too: then it is not tried again for a while.
   */
  #watched(look: LookAt, narrow: number | undefined): LookAt {
    if (narrow === undefined) return look;
    return async (request, after) => {
      const found = await look(request, after);
      if (request.window === narrow && found?.examined === narrow && !found.isEnough)
        this.#mixedUntilMs = this.#clock.monotonicMs() + FRONT_SEARCH_INTERVAL_MS;
      return found;
    };
  }
}

/** The owner of a retaken row may have left more in the same window. */
function endOf({ rows, window }: WindowAnswer, { limit }: Claim): DuePlace | undefined {
  if (isRetaken(rows)) return undefined;
  return rows.length === limit ? lastPlace(rows) : window.last;
}

import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import { isRetaken, lastPlace } from '../row-mapping.js';
import type { ClaimAnswer, ClaimRunner, WindowAnswer } from './claim-runner.js';
import { isComplete } from './claim-runner.js';
import { MAX_WINDOWS, SkippingSearch } from './skipping-search.js';

/** Searches for rows without a key while these topics are left out. */
export class ExceptSearch {
  readonly topics: readonly string[];
  readonly #runner: Pick<ClaimRunner, 'claimUnkeyedExcept'>;
  readonly #search: SkippingSearch;

  constructor(topics: readonly string[], runner: Pick<ClaimRunner, 'claimUnkeyedExcept'>, clock: Clock) {
    this.topics = topics;
    this.#runner = runner;
    this.#search = new SkippingSearch(clock);
  }

  /** Whether the last claim ended before it had seen all due rows. */
  get isUnfinished(): boolean {
    return this.#search.isUnfinished;
  }

  async claim(claim: Claim): Promise<ClaimAnswer> {
    let keyedDue = false;
    const rows = await this.#search.claim(claim, MAX_WINDOWS, async (request, after) => {
      const answer = await this.#runner.claimUnkeyedExcept({
        ...request,
        exceptTopics: this.topics,
        after,
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
    return { rows, keyedDue };
  }
}

/** The owner of a retaken row may have left more in the same window. */
function endOf({ rows, window }: WindowAnswer, { limit }: Claim): DuePlace | undefined {
  if (isRetaken(rows)) return undefined;
  return rows.length === limit ? lastPlace(rows) : window.last;
}

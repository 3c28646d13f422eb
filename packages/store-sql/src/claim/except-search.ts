import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import { isRetaken, lastPlace } from '../row-mapping.js';
import type { SqlRecord } from '../sql-statement.js';
import type { ClaimAnswer, ClaimRunner, WindowAnswer } from './claim-runner.js';
import { isComplete, restOf } from './claim-runner.js';
import { FrontSweep } from './front-sweep.js';
import { type LookAt, MAX_WINDOWS, SkippingSearch } from './skipping-search.js';

/** Searches for rows without a key while these topics are left out. */
export class ExceptSearch {
  readonly topics: readonly string[];
  readonly #runner: Pick<ClaimRunner, 'claimUnkeyedExcept'>;
  readonly #search: SkippingSearch;
  readonly #sweep: FrontSweep;

  constructor(topics: readonly string[], runner: Pick<ClaimRunner, 'claimUnkeyedExcept'>, clock: Clock) {
    this.topics = topics;
    this.#runner = runner;
    this.#search = new SkippingSearch(clock);
    this.#sweep = new FrontSweep(clock);
  }

  /** Whether the last claim passed all rows it examined, and left some for the next one. */
  get isUnfinished(): boolean {
    return this.#search.isUnfinished;
  }

  async claim(claim: Claim): Promise<ClaimAnswer> {
    let keyedDue = false;
    const rows = await this.#claim(claim, async (request, after) => {
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

  async #claim(claim: Claim, look: LookAt): Promise<SqlRecord[]> {
    const swept = await this.#sweep.continue(this.#search.start, claim, look);
    if (swept?.isEnough || swept?.isWhole) return swept.rows;
    const rows = swept?.rows ?? [];
    return [...rows, ...(await this.#search.claim(restOf(claim, rows), MAX_WINDOWS, look))];
  }
}

/** The owner of a retaken row may have left more in the same window. */
function endOf({ rows, window }: WindowAnswer, { limit }: Claim): DuePlace | undefined {
  if (isRetaken(rows)) return undefined;
  return rows.length === limit ? lastPlace(rows) : window.last;
}

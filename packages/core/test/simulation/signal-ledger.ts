import type { DispatchSummary } from '../../src/message/dispatch-summary.js';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import type { DispatchEvents } from '../../src/observe/dispatch-events.js';
import type { Claim, ClaimLedger } from './claim-ledger.js';
import type { History } from './history.js';
import type { SimProcess } from './sim-process.js';

interface Expected {
  readonly claim: Claim;
  readonly summary: string;
  /** If a settle failed before, or a stop gave up waiting for it, the batch may end without an event. */
  readonly isCertain: boolean;
}

type Told = Outcome['kind'] | 'fenced' | 'unavailable';

/** Checks the events of the engine: I12 (truthful events). */
export class SignalLedger {
  readonly #history: History;
  readonly #claims: ClaimLedger;
  readonly #expected = new Map<SimProcess, Expected[]>();
  readonly #told = new Map<SimProcess, Set<string>>();
  /** The claims of workers that have stopped since: no stop waits forever for the answer to a settle. */
  readonly #stopped = new WeakSet<Claim>();
  /** What was recorded of each batch so far. */
  readonly #outcomes = new WeakMap<Claim, Map<string, Told>>();
  /** How often each process emitted an outcome of each row. */
  readonly #ends = new Map<string, number>();

  constructor(history: History, claims: ClaimLedger) {
    this.#history = history;
    this.#claims = claims;
  }

  listen(process: SimProcess, events: DispatchEvents): void {
    events.on('stopped', () => {
      for (const claim of this.#claims.claims) if (claim.process === process) this.#stopped.add(claim);
    });
    events.on('batch', (summary) => this.#batchTold(process, summary));
    events.on('dead', ({ row }) => this.#endTold(process, row, 'dead'));
    events.on('failed', ({ row }) => this.#endTold(process, row, 'failed'));
    events.on('fenced', ({ ids }) => this.#fencedTold(process, ids));
    events.on('trouble', ({ error }) => this.#history.note(process.name, 'trouble', () => String(error)));
    events.on('listenerFailed', ({ error }) => this.#history.violated('I12', `a listener failed: ${error}`));
  }

  /** The store answered a settle of a batch: when the batch has ended, its summary must follow. */
  expectBatch(
    process: SimProcess,
    claim: Claim | undefined,
    outcomes: readonly Outcome[],
    settled: readonly string[],
  ): void {
    if (!claim) return;
    const told = this.#toldOf(claim);
    for (const outcome of outcomes) {
      const { id, kind } = outcome;
      const isTrue = claim.rows.get(id)?.ended === kind;
      // A repeated settle can't know that its row was recorded as failed or given back the first time.
      const isOurs = claim.hadSettleTrouble ? settled.includes(id) : isTrue;
      if (isOurs !== settled.includes(id))
        this.#history.violated('I3', `the store says ${!isTrue} of ${id} being ${kind}, and it is not so`);
      const isUnavailable = kind === 'released' && outcome.isUnavailable === true;
      told.set(id, isOurs ? (isUnavailable ? 'unavailable' : kind) : 'fenced');
    }
    const expected = {
      claim,
      summary: summaryOf(claim, told),
      isCertain: !claim.hadSettleTrouble && !this.#stopped.has(claim),
    };
    // A settle while others of the batch are published is part of the same summary.
    const others = (this.#expected.get(process) ?? []).filter((earlier) => earlier.claim !== claim);
    this.#expected.set(process, [...others, expected]);
  }

  #toldOf(claim: Claim): Map<string, Told> {
    const told = this.#outcomes.get(claim) ?? new Map<string, Told>();
    this.#outcomes.set(claim, told);
    return told;
  }

  /** The summary that `dispatchPending` returned. */
  returned(process: SimProcess, summary: DispatchSummary): void {
    if (summary.fetched > 0 && !this.#told.get(process)?.has(textOf(summary)))
      this.#history.violated('I12', `${process.name} returned ${textOf(summary)}, but told no such batch`);
  }

  /** Of a process that lives and is at rest: nothing remained untold. */
  assertAllTold(process: SimProcess): void {
    const untold = (this.#expected.get(process) ?? []).filter(
      // The batch may have had trouble since with the rest of its rows.
      ({ claim, isCertain }) => isCertain && !claim.hadSettleTrouble,
    );
    for (const { summary } of untold)
      this.#history.violated('I12', `${process.name} settled a batch without telling: ${summary}`);
  }

  #batchTold(process: SimProcess, summary: DispatchSummary): void {
    const text = textOf(summary);
    this.#history.note(process.name, 'batch', () => text);
    this.#told.set(process, (this.#told.get(process) ?? new Set()).add(text));
    const expected = this.#expected.get(process) ?? [];
    const matching = expected.filter((candidate) => candidate.summary === text);
    // Optional events must not count as required ones.
    const match = matching.find(({ isCertain }) => isCertain) ?? matching[0];
    const place = match ? expected.indexOf(match) : -1;
    // Where everything was given back or abandoned, there may have been nothing to settle.
    const { dispatched, failed, dead, fenced, unavailable = 0 } = summary;
    if (place >= 0) expected.splice(place, 1);
    else if (dispatched + failed + dead + fenced + unavailable > 0)
      this.#history.violated('I12', `${process.name} told of a batch that was not so: ${text}`);
  }

  /** Events have no claim, so the process must have had one claim with this outcome for each event. */
  #endTold(process: SimProcess, { id, deadAt, claimToken }: OutboxRow, kind: 'dead' | 'failed'): void {
    const own = [...this.#claims.claims].filter((claim) => claim.process === process);
    const ended = own.filter((claim) => claim.rows.get(id)?.ended === kind).length;
    const key = `${process.name} ${id} ${kind}`;
    const told = (this.#ends.get(key) ?? 0) + 1;
    this.#ends.set(key, told);
    if (told > ended)
      this.#history.violated(
        'I12',
        `${process.name} told that ${id} is ${kind} ${told} times, it was ${ended} times`,
      );
    if ((deadAt !== undefined) !== (kind === 'dead') || claimToken !== undefined)
      this.#history.violated('I12', `${process.name} told of ${id} as it was before it was ${kind}`);
  }

  #fencedTold(process: SimProcess, ids: readonly string[]): void {
    this.#history.note(process.name, 'fenced', () => ids.join(' '));
    const own = [...this.#claims.claims].filter((claim) => claim.process === process);
    for (const id of ids) {
      const isLost = own.some((claim) => {
        const ended = claim.rows.get(id)?.ended;
        return ended === 'void' || ended === 'expired' || (claim.rows.has(id) && claim.hadSettleTrouble);
      });
      if (!isLost)
        this.#history.violated('I12', `${process.name} told that ${id} was fenced, and it was not`);
    }
  }
}

function summaryOf(claim: Claim, outcomes: ReadonlyMap<string, Told>): string {
  const all = [...outcomes.values()];
  const count = (told: Told): number => all.filter((one) => one === told).length;
  return textOf({
    fetched: claim.rows.size,
    dispatched: count('dispatched'),
    failed: count('failed'),
    dead: count('dead'),
    fenced: count('fenced'),
    unavailable: count('unavailable'),
  });
}

function textOf({ fetched, dispatched, failed, dead, fenced, unavailable = 0 }: DispatchSummary): string {
  return `fetched=${fetched} dispatched=${dispatched} failed=${failed} dead=${dead} fenced=${fenced} unavailable=${unavailable}`;
}

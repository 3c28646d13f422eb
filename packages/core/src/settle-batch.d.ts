import type { DispatchEngine } from './dispatch-engine.js';
import type { DispatchSummary } from './outbox-dispatcher.js';
import type { OutboxRow } from './outbox-row.js';
import type { OutboxSignals } from './outbox-signals.js';
import type { Outcome } from './outcome.js';
/** A row and what became of it. */
export interface EndedRow {
    readonly row: OutboxRow;
    readonly outcome: Outcome;
}
/**
 * Records outcomes; gives the ids that were still ours. A settle that fails is repeated for as long as `retryForMs`
 * says: it is the same the second time, and what was published is then not published again.
 */
export declare function settleBatch(engine: DispatchEngine, token: string, ended: readonly EndedRow[], retryForMs: () => number): Promise<readonly string[]>;
export declare function summarise(fetched: number, ended: readonly EndedRow[], settled: readonly string[]): DispatchSummary;
/** Told after it is in the table, and only for rows that were still ours. */
export declare function tellEnds(signals: OutboxSignals, ended: readonly EndedRow[], settled: readonly string[]): void;

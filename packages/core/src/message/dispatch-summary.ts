/** The result of one batch. Rows that were fetched but not counted below were released unpublished. */
export interface DispatchSummary {
  readonly fetched: number;
  readonly dispatched: number;
  readonly failed: number;
  readonly dead: number;
  /** Rows whose claim was lost before their outcome could be recorded; their new owner decides. */
  readonly fenced: number;
  /** Rows released because their destination is away. Absent if there are none. */
  readonly unavailable?: number;
}

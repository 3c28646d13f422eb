/** Search from the front at least this often, however full the batches or slow the front. */
export const FRONT_SEARCH_INTERVAL_MS = 1_000;
/** While searches start behind the front, rows committed up to this long after their enqueue are still found right away. */
export const LATE_COMMIT_MS = 1_000;

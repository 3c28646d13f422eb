/** What a publisher learns about one try, beside the row. */
export interface PublishContext {
  /** 1 at the first try. */
  readonly attempt: number;
  /** Aborts when the publish takes longer than `publishTimeoutMs` or the claim on the row is lost. Hand it on. */
  readonly signal: AbortSignal;
}

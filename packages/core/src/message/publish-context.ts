/** What a publisher gets besides the row. */
export interface PublishContext {
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** Aborts when the publish exceeds `publishTimeoutMs` or the claim is lost. Pass it on to `fetch` or your client. */
  readonly signal: AbortSignal;
}

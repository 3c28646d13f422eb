/** Narrows a claim. */
export interface ClaimOptions {
  /** Topics whose destination is away or that are paused. @default none */
  readonly exceptTopics?: readonly string[];
  /** The token of this claim, never used before; at most 36 characters. @default a random one */
  readonly token?: string;
}

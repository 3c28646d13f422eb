import { assertKnownOptions, type OptionNames } from '../message/known-options.js';

/** Narrows a claim. */
export interface ClaimOptions {
  /** Topics whose destination is away or that are paused. @default none */
  readonly exceptTopics?: readonly string[];
  /** The token of this claim, never used before; at most 36 characters. @default a random one */
  readonly token?: string;
}

const CLAIM_NAMES: OptionNames<ClaimOptions> = { exceptTopics: true, token: true };

/** For stores: throws `INVALID_ARGUMENT` for an unknown option of `fetchPending`. */
export function assertClaimOptions(options: ClaimOptions): void {
  assertKnownOptions('fetchPending', options, CLAIM_NAMES, 'INVALID_ARGUMENT');
}

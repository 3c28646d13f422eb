export type RedisArgument = string | Buffer;

/** The options of one command that are used. */
export interface RedisCommandOptions {
  /** Takes back a command that was not written yet. */
  readonly abortSignal?: AbortSignal;
  readonly timeout?: number | undefined;
  readonly typeMapping?: Readonly<Record<never, never>>;
}

/**
 * The parts of a client of `@redis/client` or `redis` that are used, so that its version does not matter. A client of a
 * cluster, a sentinel or a pool has another `sendCommand`.
 */
export interface RedisClientLike {
  /** Whether it is connected, and not reconnecting. */
  readonly isReady: boolean;
  sendCommand(args: readonly RedisArgument[], options?: RedisCommandOptions): Promise<unknown>;
}

/** The parts of a `Queue` of BullMQ that are used, so that its version does not matter. */
export interface QueueLike {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: the types of data and options are the queue's own.
  add(name: any, data: any, options?: any): Promise<unknown>;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
  on(event: 'error' | 'ioredis:close', listener: (error: Error) => void): unknown;
}

/** What is used of the client of Redis behind a queue: of `ioredis`, as BullMQ wraps it. */
export interface RedisLike {
  readonly status?: string;
  readonly options?: {
    readonly enableOfflineQueue?: boolean;
    readonly autoResendUnfulfilledCommands?: boolean;
  };
  info?(): Promise<string>;
  disconnect?(): void;
  on?(event: 'error', listener: () => void): unknown;
}

interface Backed {
  /** BullMQ 5 */
  readonly client?: Promise<RedisLike>;
  /** BullMQ 6 */
  getBackend?(): { readonly connection?: { readonly client?: Promise<RedisLike> } };
}

/** The client behind a queue, once it is connected. Undefined for a queue that is not in Redis. */
export async function clientOf(queue: QueueLike): Promise<RedisLike | undefined> {
  const { client, getBackend } = queue as QueueLike & Backed;
  return client ?? getBackend?.call(queue).connection?.client;
}

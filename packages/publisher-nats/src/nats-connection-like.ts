/** The parts of a `NatsConnection` that are used, so that the version of the client does not matter. */
export interface NatsConnectionLike {
  /** What the server says about itself; undefined while the client reconnects. */
  readonly info?: { readonly max_payload: number } | undefined;
  isClosed(): boolean;
  isDraining(): boolean;
  closed(): Promise<unknown>;
  close(): Promise<void>;
  flush(): Promise<void>;
  status(): AsyncIterable<{ readonly type: string }>;
  // biome-ignore lint/suspicious/noExplicitAny: the options and the answer are the client's own.
  request(subject: string, payload?: any, options?: any): Promise<any>;
}

export interface Notification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** A query as `pg` takes it. The server prepares a named query once and reuses it by its name. */
export interface NamedQuery {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/** The part of `pg.Client` that the listener connection uses. */
export interface ListenClientLike {
  connect(): Promise<unknown>;
  query(query: string | NamedQuery): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
  on(event: 'notification', listener: (notification: Notification) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  /** `end` waits for the server; if that is gone, destroying the stream releases the socket. */
  readonly connection?: { readonly stream: { destroy(): unknown } };
}

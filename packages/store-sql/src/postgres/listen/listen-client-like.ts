export interface Notification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** As `pg` takes it: what has a name is prepared once, and then only named. */
export interface NamedQuery {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/** The methods of a `pg.Client` that we call: any version's fits. */
export interface ListenClientLike {
  connect(): Promise<unknown>;
  query(query: string | NamedQuery): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
  on(event: 'notification', listener: (notification: Notification) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  /** `end` waits for the other side; where that is gone, this lets go of the socket. */
  readonly connection?: { readonly stream: { destroy(): unknown } };
}

export interface Notification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** The methods of a `pg.Client` that we call: any version's fits. */
export interface ListenClientLike {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<void>;
  on(event: 'notification', listener: (notification: Notification) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  /** `end` waits for the other side; where that is gone, this lets go of the socket. */
  readonly connection?: { readonly stream: { destroy(): unknown } };
}

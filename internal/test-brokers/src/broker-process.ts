/** A private broker of a test, on a free port of this host. */
export interface TestBroker {
  readonly host: string;
  readonly port: number;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data. Resolves when it takes connections. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
}

/** Why a broker can't be started here. Tests skip with this text; CI fails if the program is installed all the same. */
export class BrokerUnavailable extends Error {}

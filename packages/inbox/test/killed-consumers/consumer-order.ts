/** What a consumer process is told to do. */
export interface ConsumerOrder {
  readonly transport: 'rabbitmq' | 'nats' | 'webhook';
  readonly databaseUrl: string;
  /** Of the broker. */
  readonly url: string;
  /** The queue of RabbitMQ, or the stream of NATS. */
  readonly source: string;
  readonly secret: string;
  /** Where it stops for good, and waits to be killed. */
  readonly stopsAt: StopPoint | undefined;
}

/** Before its transaction commits, or between the commit and the acknowledgement. */
export type StopPoint = 'commit' | 'acknowledgement';

/** What a consumer process says. */
export type ConsumerReport =
  | { readonly at: 'listening'; readonly port: number }
  | { readonly at: StopPoint }
  | { readonly at: 'acknowledged'; readonly hasRun: boolean; readonly wasRedelivered: boolean };

/** The queue or stream has a consumer of this name. */
export const CONSUMER = 'points';

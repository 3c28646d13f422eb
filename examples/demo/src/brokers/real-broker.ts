import { type MessageFormat, OutboxError, type OutboxPublisher } from '@postcommit/core';

/** The brokers that `--broker` names. */
export const BROKERS = ['rabbitmq', 'nats', 'kafka'] as const;
export type BrokerName = (typeof BROKERS)[number];

/** What a dispatcher process needs to publish there. */
export interface BrokerAddress {
  readonly broker: BrokerName;
  readonly urls: readonly string[];
  /** The exchange, stream or topic that belongs to this run. */
  readonly destination: string;
}

/** A message as a consumer received it. */
export interface Arrival {
  readonly id: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A destination on a real broker, with a consumer behind it. */
export interface RealBroker {
  /** For people to read. */
  readonly title: string;
  readonly address: BrokerAddress;
  /** Cuts the dispatchers off from the broker, or lets them through again. */
  setDown(isDown: boolean): Promise<void>;
  /** Removes the destination. */
  close(): Promise<void>;
}

/** How the demo uses one kind of broker. */
export interface BrokerKind {
  /** @throws BrokerMissing */
  open(onArrival: (arrival: Arrival) => Promise<void>): Promise<RealBroker>;
  publisher(address: BrokerAddress, format: MessageFormat): OutboxPublisher;
}

/** No such broker answers here. The message says what to do. */
export class BrokerMissing extends Error {}

const KINDS: Readonly<Record<BrokerName, () => Promise<BrokerKind>>> = {
  rabbitmq: async () => (await import('./rabbitmq.js')).rabbitmq,
  nats: async () => (await import('./nats.js')).nats,
  kafka: async () => (await import('./kafka.js')).kafka,
};

/** Loads one client and no other: that of Kafka needs a newer Node. */
export function loadBroker(name: BrokerName): Promise<BrokerKind> {
  return KINDS[name]();
}

export function isBrokerName(name: string): name is BrokerName {
  return BROKERS.some((known) => known === name);
}

/** The address that a dispatcher process was started with. */
export function readAddress(text: string): BrokerAddress {
  const address = JSON.parse(text) as BrokerAddress;
  if (!isBrokerName(address.broker)) throw new OutboxError('INVALID_CONFIG', `no broker ${address.broker}`);
  return address;
}

import { type MessageFormat, type OutboxPublisher, type OutboxRow, routePublisher } from '@postcommit/core';
import type pg from 'pg';
import { Broker } from '../broker.js';
import { type OrderChange, POISON_TOPIC } from '../producers.js';
import {
  type Arrival,
  type BrokerAddress,
  type BrokerName,
  loadBroker,
  type RealBroker,
} from './real-broker.js';

/** The headers by which the ledger knows who delivered a message. */
const DISPATCHER = 'demo-dispatcher';
const TAKEN_OVER = 'demo-taken-over';

/** A real broker in place of the tables. What its consumer receives goes into the same ledger. */
export class BrokerBehindLedger extends Broker {
  override readonly outage: string;
  override readonly costsTries = false;
  readonly #real: RealBroker;

  private constructor(pool: pg.Pool, real: RealBroker) {
    super(pool);
    this.#real = real;
    this.outage = `The way to ${real.title} is cut: the messages wait for it, and keep their tries.`;
  }

  static async open(pool: pg.Pool, name: BrokerName): Promise<BrokerBehindLedger> {
    const ledger = new Broker(pool);
    const kind = await loadBroker(name);
    const real = await kind.open((arrival) => noteArrival(ledger, arrival));
    return new BrokerBehindLedger(pool, real);
  }

  get title(): string {
    return this.#real.title;
  }

  get address(): BrokerAddress {
    return this.#real.address;
  }

  override setDown(isDown: boolean): Promise<void> {
    return this.#real.setDown(isDown);
  }

  close(): Promise<void> {
    return this.#real.close();
  }
}

async function noteArrival(ledger: Broker, { id, body, headers }: Arrival): Promise<void> {
  const change = JSON.parse(body) as OrderChange;
  await ledger.note(id, change, headers[DISPATCHER] ?? '', headers[TAKEN_OVER] === 'yes');
}

/** In a dispatcher's process. The broker takes every topic, so the one that is refused is refused before it. */
export async function publisherTo(
  address: BrokerAddress,
  dispatcher: string,
  world: Broker,
): Promise<OutboxPublisher> {
  const encode: MessageFormat['encode'] = (row) => ({
    body: JSON.stringify(row.payload),
    contentType: 'application/json',
    headers: { [DISPATCHER]: dispatcher, [TAKEN_OVER]: row.retakes > 0 ? 'yes' : 'no' },
  });
  const publisher = (await loadBroker(address.broker)).publisher(address, { encode });
  const refusing = async (row: OutboxRow, context: Parameters<OutboxPublisher['publish']>[1]) => {
    await world.check(row);
    await publisher.publish(row, context);
  };
  return routePublisher({ [POISON_TOPIC]: refusing, '*': publisher });
}

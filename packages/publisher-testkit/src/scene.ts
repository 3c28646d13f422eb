import type { MessageFormat, OutboxPublisher, OutboxRow } from '@postcommit/core';
import { absenceOf } from '@postcommit/core/internal';
import { NotApplicable } from './not-applicable.js';
import type {
  PublisherFixture,
  PublisherHarness,
  PublisherTraits,
  ReceivedMessage,
} from './publisher-harness.js';
import { Sender } from './sender.js';
import { idsOf, type RowFields, testRow } from './test-rows.js';
import { DEFAULT_PATIENCE_MS, quietTime, until } from './waiting.js';

/** One test: an empty destination, the publishers on it, and what arrived. */
export class Scene {
  readonly fixture: PublisherFixture;
  readonly traits: PublisherTraits;
  readonly #patienceMs: number;
  readonly #senders: Sender[] = [];

  constructor(fixture: PublisherFixture, { traits, patienceMs = DEFAULT_PATIENCE_MS }: PublisherHarness) {
    this.fixture = fixture;
    this.traits = traits;
    this.#patienceMs = patienceMs;
  }

  /** A publisher that has not started. It is stopped when the test ends. */
  sender(publisher: OutboxPublisher = this.fixture.createPublisher()): Sender {
    const sender = new Sender(publisher, this.#patienceMs);
    this.#senders.push(sender);
    return sender;
  }

  /** A publisher that has started. */
  async started(format?: MessageFormat): Promise<Sender> {
    const sender = this.sender(this.fixture.createPublisher(format));
    await sender.start();
    return sender;
  }

  /** A publisher that has started and delivered a row, so that it is connected. */
  async connected(format?: MessageFormat): Promise<Sender> {
    const sender = await this.started(format);
    await sender.deliver(this.row());
    return sender;
  }

  /** Starts a publisher whose broker may be away. The engine goes on if the error says so, and so does the test. */
  async startedAway(publisher?: OutboxPublisher): Promise<Sender> {
    const sender = this.sender(publisher);
    await sender.start().catch((error: unknown) => {
      if (!absenceOf(error)) throw error;
    });
    return sender;
  }

  row(fields: RowFields = {}): OutboxRow {
    return testRow(this.fixture.topic, fields);
  }

  rows(count: number, fields: (index: number) => RowFields = () => ({})): OutboxRow[] {
    return Array.from({ length: count }, (_, index) =>
      this.row({ payload: { number: index }, ...fields(index) }),
    );
  }

  /** Waits until all of these rows have arrived, and returns their messages in the order of the broker. */
  async arrived(...rows: readonly OutboxRow[]): Promise<readonly ReceivedMessage[]> {
    const ids = new Set(idsOf(rows));
    let missing = [...ids];
    return this.until(
      async () => {
        const messages = await this.received(ids);
        const here = new Set(idsOf(messages));
        missing = [...ids].filter((id) => !here.has(id));
        return missing.length === 0 ? messages : undefined;
      },
      () => `${missing.length} of ${ids.size} rows did not arrive, such as ${missing[0]}`,
    );
  }

  /** The message of a row that arrives once. */
  async message(row: OutboxRow): Promise<ReceivedMessage> {
    const [message] = await this.arrived(row);
    if (!message) throw new Error(`row ${row.id} did not arrive`);
    return message;
  }

  /** What has arrived of these rows after a later one, and a while of waiting. */
  async arrivedAtLast(sender: Sender, rows: readonly OutboxRow[]): Promise<readonly ReceivedMessage[]> {
    const marker = this.row();
    await sender.deliver(marker);
    await this.arrived(marker);
    await quietTime();
    return this.received(new Set(idsOf(rows)));
  }

  /** Asks until the answer is defined. Fails the test with the text of `problem` if that takes too long. */
  until<T>(ask: () => T | undefined | Promise<T | undefined>, problem: () => string): Promise<T> {
    return until(ask, problem, this.#patienceMs);
  }

  /** What has arrived by now with one of these ids. */
  async received(ids: ReadonlySet<string>): Promise<readonly ReceivedMessage[]> {
    const messages = await this.fixture.received();
    return messages.filter(({ id }) => ids.has(id));
  }

  /** A part of the fixture. The test is skipped if there is none. */
  needs<Name extends keyof PublisherFixture>(name: Name): NonNullable<PublisherFixture[Name]> {
    const part = this.fixture[name];
    if (part === undefined) throw new NotApplicable(`the fixture has no '${name}'`);
    return part as NonNullable<PublisherFixture[Name]>;
  }

  /** Skips the test unless the broker has this trait. */
  needsTrait(name: keyof PublisherTraits): void {
    if (!this.traits[name]) throw new NotApplicable(`the broker does not have the trait '${name}'`);
  }

  /** Stops all publishers, whatever state the test has left them in. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#senders.map((sender) => sender.stop(0)));
    await this.fixture.close();
  }
}

import { type OutboxRow, type PublishContext, type PublishResult, UnavailableError } from '@postcommit/core';
import type { ToyClient } from '../toy-client.js';
import type { ToyAnswer, ToyCommand, ToyMessage } from '../toy-protocol.js';
import { ToyPublisher } from '../toy-publisher.js';
import { type Mutant, mutant } from './mutant.js';

type Batch = readonly OutboxRow[];
type Context = Pick<PublishContext, 'signal'>;
const FULFILLED: PublishResult = { status: 'fulfilled' };

export const confirmationMutants: readonly Mutant[] = [
  mutant(
    'resolves when the message is written',
    'publish resolves only after the broker has confirmed',
    class extends ToyPublisher {
      protected override async ask(
        client: ToyClient,
        command: ToyCommand,
        limit: AbortSignal,
      ): Promise<ToyAnswer> {
        const asking = super.ask(client, command, limit);
        if (command.do !== 'send') return asking;
        asking.catch(() => {});
        return { seq: 0 };
      }
    },
  ),
  mutant(
    'does not wait for the confirmations of a batch',
    'publishBatch resolves only after the broker has confirmed',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        super.publishBatch(rows, context).catch(() => {});
        return rows.map(() => FULFILLED);
      }
    },
  ),
  mutant(
    'takes a lost connection for a confirmation',
    [
      'publish rejects if the connection ends before the confirmation',
      'publishBatch rejects every row that was not confirmed before the connection ended',
    ],
    class extends ToyPublisher {
      protected override ask(client: ToyClient, command: ToyCommand, limit: AbortSignal): Promise<ToyAnswer> {
        return super.ask(client, command, limit).catch(() => ({ seq: 0 }));
      }
    },
  ),
  mutant(
    'counts a row of a batch without a result as delivered',
    'publishBatch rejects every row that was not confirmed before the connection ended',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        const results = await super.publishBatch(rows, context);
        return results.map((result) => (isRefusal(result) ? result : FULFILLED));
      }
    },
  ),
  mutant(
    'loses every message and says so to nobody',
    'a published row arrives',
    class extends ToyPublisher {
      override async publish(): Promise<void> {}
    },
  ),
  mutant(
    'does not look at what the broker answers',
    [
      'a row that the broker refuses is rejected',
      'a row that the broker has no destination for is rejected',
      'one publish that fails does not fail others at the same time',
    ],
    class extends ToyPublisher {
      protected override settle(): void {}
    },
  ),
  mutant(
    'remembers a row as sent before it is',
    'a row whose first try failed is delivered by the next',
    class extends ToyPublisher {
      readonly #sent = new Set<string>();

      override async publish(row: OutboxRow, context: Context): Promise<void> {
        if (this.#sent.has(row.id)) return;
        this.#sent.add(row.id);
        await super.publish(row, context);
      }
    },
  ),
  mutant(
    'sends messages that a restart of the broker loses',
    'what was confirmed is there after the broker was killed, and the same publisher goes on',
    class extends ToyPublisher {
      protected override async messageOf(row: OutboxRow): Promise<ToyMessage> {
        return { ...(await super.messageOf(row)), isDurable: false };
      }
    },
  ),
  mutant(
    'delivers only a part of a batch when the broker goes away, and reports the rest as delivered',
    'rows that were being sent while the broker was killed are delivered by their next try',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        await super.publishBatch(rows.slice(0, 10), context);
        return rows.map(() => FULFILLED);
      }
    },
  ),
  mutant(
    'swallows rows that have no destination',
    'a row that the broker has no destination for is rejected',
    class extends ToyPublisher {
      protected override settle(row: OutboxRow, answer: ToyAnswer): void {
        if (answer.refused !== 'no topic') super.settle(row, answer);
      }
    },
  ),
  mutant(
    'does not say which destination is missing',
    'the error names the destination',
    class extends ToyPublisher {
      protected override settle(_: OutboxRow, { refused }: ToyAnswer): void {
        if (refused) throw new UnavailableError('404');
      }
    },
  ),
  mutant(
    'fails a whole batch because of one row without a destination',
    'an unroutable row of a batch does not fail its neighbours',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        const results = await super.publishBatch(rows, context);
        const closed = results.find((result) => isRefusal(result, 'no topic'));
        return closed ? rows.map(() => closed) : results;
      }
    },
  ),
  mutant(
    'does not open a channel again that a missing destination has closed',
    'a batch after an unroutable row is delivered',
    class extends ToyPublisher {
      #closed: unknown;

      protected override settle(row: OutboxRow, answer: ToyAnswer): void {
        if (this.#closed) throw this.#closed;
        try {
          super.settle(row, answer);
        } catch (error) {
          if (answer.refused === 'no topic') this.#closed = error;
          throw error;
        }
      }
    },
  ),
];

/** The broker has answered, and refused the row. */
function isRefusal(result: PublishResult, why = ''): boolean {
  return (
    result.status === 'rejected' &&
    /refused|no topic/.test(String(result.reason)) &&
    String(result.reason).includes(why)
  );
}

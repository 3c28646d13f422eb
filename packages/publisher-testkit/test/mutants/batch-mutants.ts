import { type OutboxRow, type PublishContext, type PublishResult, UnavailableError } from '@postcommit/core';
import type { ToyClient } from '../toy-client.js';
import type { ToyAnswer, ToyCommand } from '../toy-protocol.js';
import { ToyPublisher } from '../toy-publisher.js';
import { type Mutant, mutant } from './mutant.js';

type Batch = readonly OutboxRow[];
type Context = Pick<PublishContext, 'signal'>;
const FULFILLED: PublishResult = { status: 'fulfilled' };

export const batchMutants: readonly Mutant[] = [
  mutant(
    'ignores the failures of single rows',
    [
      'a refused row has its own result and does not fail its neighbours',
      'rows behind a refused one of their key are not sent, other rows are',
    ],
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        const results = await super.publishBatch(rows, context);
        return results.some(({ status }) => status === 'fulfilled') ? rows.map(() => FULFILLED) : results;
      }
    },
  ),
  mutant(
    'fails a whole batch because of one row',
    [
      'a refused row has its own result and does not fail its neighbours',
      'its neighbours in a batch are delivered',
      'a row that cannot be encoded is refused for good and does not fail its neighbours',
    ],
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        const results = await super.publishBatch(rows, context);
        const failed = results.find(({ status }) => status === 'rejected');
        return failed ? rows.map(() => failed) : results;
      }
    },
  ),
  mutant(
    'returns results only for rows that failed',
    [
      'a batch of one row is delivered',
      'every row of a batch arrives once',
      'a batch of more bytes than the broker takes at once is split',
    ],
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        const results = await super.publishBatch(rows, context);
        return results.filter(({ status }) => status === 'rejected');
      }
    },
  ),
  mutant(
    'sends only as many rows of a batch as one request takes',
    [
      'every row of a batch arrives once',
      'thousands of rows arrive once each: a full buffer is not a failure',
    ],
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        await super.publishBatch(rows.slice(0, 100), context);
        return rows.map(() => FULFILLED);
      }
    },
  ),
  mutant(
    'sends only as many bytes of a batch as one request takes',
    'a batch of more bytes than the broker takes at once is split',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        let bytes = 0;
        const fitting = rows.filter(({ payload }) => {
          bytes += JSON.stringify(payload).length;
          return bytes < 1_000_000;
        });
        await super.publishBatch(fitting, context);
        return rows.map(() => FULFILLED);
      }
    },
  ),
  mutant(
    'cannot send an empty batch',
    'an empty batch has no results',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        if (rows.length === 0) throw new UnavailableError('the broker refused an empty request');
        return super.publishBatch(rows, context);
      }
    },
  ),
  mutant(
    'makes a round trip for each row',
    'a batch takes far fewer round trips than it has rows',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        const results: PublishResult[] = [];
        for (const row of rows) results.push(...(await super.publishBatch([row], context)));
        return results;
      }
    },
  ),
  mutant(
    'keeps its rows by id, and returns one result for two rows with the same',
    'the same id twice in a batch arrives',
    class extends ToyPublisher {
      override publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        const byId = new Map(rows.map((row) => [row.id, row]));
        return super.publishBatch([...byId.values()], context);
      }
    },
  ),
  mutant(
    'sends all rows of a batch at once',
    'rows behind a refused one of their key are not sent, other rows are',
    class extends ToyPublisher {
      override publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        return Promise.allSettled(rows.map((row) => this.publish(row, context)));
      }
    },
  ),
  mutant(
    'stops a batch at the first row that fails, whatever its key',
    'rows behind a refused one of their key are not sent, other rows are',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        let failed: PublishResult | undefined;
        const results: PublishResult[] = [];
        for (const row of rows) {
          const [result = FULFILLED] = failed ? [failed] : await super.publishBatch([row], context);
          if (result.status === 'rejected') failed = result;
          results.push(result);
        }
        return results;
      }
    },
  ),
  mutant(
    'sends the rows of a batch in any order',
    [
      'rows of one key arrive in the order of the batch, with their key',
      'rows of one key arrive in the order of several batches',
      'order holds when an answer is lost in the middle',
    ],
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        return [...(await super.publishBatch([...rows].reverse(), context))].reverse();
      }
    },
  ),
  mutant(
    'loses what is sent while something else is being sent, and says that it was delivered',
    [
      'rows that are published at the same time arrive once each',
      'batches that are published at the same time arrive once each',
      'rows that are published at the same time before the first connection arrive once each',
    ],
    class extends ToyPublisher {
      #isSending = false;

      protected override async ask(
        client: ToyClient,
        command: ToyCommand,
        limit: AbortSignal,
      ): Promise<ToyAnswer> {
        if (this.#isSending) return { seq: 0 };
        this.#isSending = true;
        try {
          return await super.ask(client, command, limit);
        } finally {
          this.#isSending = false;
        }
      }
    },
  ),
  mutant(
    'closes its channel when the broker refuses a row, and fails all that is being sent',
    'one publish that fails does not fail others at the same time',
    class extends ToyPublisher {
      #channel = 1;

      override async publish(row: OutboxRow, context: Context): Promise<void> {
        const channel = this.#channel;
        await super.publish(row, context);
        if (channel !== this.#channel) throw new UnavailableError('the channel was closed');
      }

      protected override settle(row: OutboxRow, answer: ToyAnswer): void {
        if (answer.refused) this.#channel += 1;
        super.settle(row, answer);
      }
    },
  ),
  mutant(
    'takes a full buffer for a failure',
    'thousands of rows arrive once each: a full buffer is not a failure',
    class extends ToyPublisher {
      override async publish(row: OutboxRow, context: Context): Promise<void> {
        const isFull = this.inFlight.size > 150;
        await super.publish(row, context);
        if (isFull) throw new UnavailableError('write() returned false');
      }
    },
  ),
  mutant(
    'keeps every row that it has delivered',
    'rows that were delivered are not kept',
    class extends ToyPublisher {
      readonly #delivered: OutboxRow[] = [];

      override async publish(row: OutboxRow, context: Context): Promise<void> {
        await super.publish(row, context);
        this.#delivered.push(row);
      }
    },
  ),
];

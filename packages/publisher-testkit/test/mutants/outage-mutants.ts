import {
  type OutboxRow,
  PermanentError,
  type PublishContext,
  type PublishResult,
  publishInWaves,
  UnavailableError,
} from '@postcommit/core';
import type { ToyClient } from '../toy-client.js';
import { orAborted, ToyPublisher } from '../toy-publisher.js';
import { type Mutant, mutant } from './mutant.js';

type Batch = readonly OutboxRow[];
type Context = Pick<PublishContext, 'signal'>;
const CUT = 'a connection that is cut is an outage, and heals without a new publisher';
const REFUSED = 'a refused connection is an outage, and heals without a new publisher';
const SILENT = 'a broker that stops answering is an outage, and heals without a new publisher';
const SILENT_AT_FIRST =
  'a broker that does not answer a new connection is an outage, and heals without a new publisher';
const CUT_BATCH = 'every row of a batch says that the broker is away';
const SILENT_BATCH = 'every row of a batch says that the broker does not answer';

const forever = new AbortController().signal;

export const outageMutants: readonly Mutant[] = [
  mutant(
    'burns an attempt of every row that meets an outage',
    [CUT, REFUSED, SILENT, CUT_BATCH, SILENT_BATCH],
    class extends ToyPublisher {
      protected override toError(): unknown {
        return new Error('publish failed');
      }
    },
  ),
  mutant(
    'says that the broker is away only for the first row of a batch',
    [CUT_BATCH, SILENT_BATCH],
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        const results = await super.publishBatch(rows, context);
        const follow: PublishResult = { status: 'rejected', reason: new Error('the batch failed') };
        return results.map((result, index) => (index > 0 && result.status === 'rejected' ? follow : result));
      }
    },
  ),
  mutant(
    'fails the start of the application when the broker is away',
    'start succeeds, or says that the broker is away',
    class extends ToyPublisher {
      override start(): Promise<void> {
        return super.start().catch(() => {
          throw new Error('could not start');
        });
      }
    },
  ),
  mutant(
    'takes refused credentials for a fault of the row',
    'refused credentials are an outage: the row is not to blame',
    class extends ToyPublisher {
      protected override toError(error: unknown): unknown {
        const isLogin = error instanceof Error && error.message === 'login refused';
        return isLogin ? new PermanentError('login refused', { cause: error }) : super.toError(error);
      }
    },
  ),
  mutant(
    'waits for a silent broker without a limit',
    [SILENT, SILENT_AT_FIRST],
    class extends ToyPublisher {
      protected override limit(): AbortSignal {
        return this.stopping.signal;
      }
    },
  ),
  mutant(
    'never connects again',
    [CUT, 'what was confirmed is there after the broker was killed, and the same publisher goes on'],
    class extends ToyPublisher {
      #client: Promise<ToyClient> | undefined;

      protected override open(): Promise<ToyClient> {
        this.#client ??= super.open();
        return this.#client;
      }
    },
  ),
  mutant(
    'keeps the failure of its first connection',
    [REFUSED, 'rows that are published at the same time before the first connection arrive once each'],
    class extends ToyPublisher {
      #client: Promise<ToyClient> | undefined;

      protected override open(): Promise<ToyClient> {
        this.#client ??= super.open();
        return this.#client;
      }
    },
  ),
  mutant(
    'keeps rows while the broker is away, and sends them later',
    'no ghost: a row that was given up while the broker was away never arrives',
    class extends ToyPublisher {
      protected override async send(row: OutboxRow, signal: AbortSignal): Promise<void> {
        await orAborted(this.#sendSometime(row), signal);
      }

      async #sendSometime(row: OutboxRow): Promise<void> {
        for (let tries = 0; tries < 100; tries++) {
          const isSent = await super.send(row, forever).then(
            () => true,
            () => false,
          );
          if (isSent) return;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    },
  ),
  mutant(
    'goes on connecting for a row that was given up, and sends it then',
    'no ghost: a row that was given up before the first connection never arrives',
    class extends ToyPublisher {
      protected override async send(row: OutboxRow, signal: AbortSignal): Promise<void> {
        try {
          await super.send(row, signal);
        } catch (error) {
          setTimeout(() => super.send(row, forever).catch(() => {}), 550);
          throw error;
        }
      }
    },
  ),
  mutant(
    'goes on with its batch after the signal has aborted',
    'no ghost: after the signal aborts, only what was on the wire arrives',
    class extends ToyPublisher {
      override publishBatch(rows: Batch): Promise<readonly PublishResult[]> {
        return super.publishBatch(rows, { signal: forever });
      }
    },
  ),
  mutant(
    'sends a row again that was not confirmed, after it was given up',
    'no ghost: a row that was given up while the broker did not answer arrives at most once',
    class extends ToyPublisher {
      protected override async send(row: OutboxRow, signal: AbortSignal): Promise<void> {
        const first = super.send(row, forever);
        first.catch(() => {});
        try {
          await orAborted(first, signal);
        } catch (error) {
          super.send(row, forever).catch(() => {});
          throw error;
        }
      }
    },
  ),
  mutant(
    'does not look at its signal',
    'nothing is sent under a signal that has aborted',
    class extends ToyPublisher {
      protected override limit(): AbortSignal {
        return super.limit();
      }

      override publishBatch(rows: Batch): Promise<readonly PublishResult[]> {
        return super.publishBatch(rows, { signal: forever });
      }
    },
  ),
  mutant(
    'waits for a confirmation although the signal has aborted',
    'publish ends when its signal aborts',
    class extends ToyPublisher {
      protected override limit(): AbortSignal {
        return forever;
      }
    },
  ),
  mutant(
    'goes on with the rows of a key whose first one was lost with the connection',
    'order holds when the connection is cut in the middle',
    class extends ToyPublisher {
      override async publishBatch(rows: Batch, { signal }: Context): Promise<readonly PublishResult[]> {
        const results: PublishResult[] = [];
        for (const row of rows) {
          const [result] = await publishInWaves(
            [row],
            (wave) => Promise.allSettled(wave.map((one) => this.publish(one, { signal }))),
            { signal },
          );
          if (result?.status === 'rejected') await new Promise((resolve) => setTimeout(resolve, 100));
          results.push(result ?? { status: 'rejected', reason: new UnavailableError('no result') });
        }
        return results;
      }
    },
  ),
];

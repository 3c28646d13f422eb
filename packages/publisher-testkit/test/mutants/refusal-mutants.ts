import { type OutboxRow, PermanentError, UnavailableError } from '@postcommit/core';
import type { ToyMessage } from '../toy-protocol.js';
import { type ToyOptions, ToyPublisher } from '../toy-publisher.js';
import { type Mutant, mutant } from './mutant.js';

const REFUSED_FOR_GOOD = 'a row that the broker cannot take is refused for good';

const impossibleMutants: readonly Mutant[] = [
  mutant(
    'leaves it to the broker to refuse impossible rows, and tries them forever',
    [
      REFUSED_FOR_GOOD,
      'it is refused although the broker is away',
      'its neighbours in a batch are delivered',
    ],
    class extends ToyPublisher {
      protected override assertPossible(): void {}
    },
  ),
  mutant(
    'sends a part of a row that is too large',
    'nothing of it is sent',
    class extends ToyPublisher {
      protected override async send(row: OutboxRow, signal: AbortSignal): Promise<void> {
        try {
          await super.send(row, signal);
        } catch (error) {
          if (error instanceof PermanentError)
            await super.send({ ...row, topic: 'orders', payload: 'cut off' }, signal).catch(() => {});
          throw error;
        }
      }
    },
  ),
  mutant(
    'refuses a row that is as large as the limit',
    'the largest body arrives',
    class extends ToyPublisher {
      constructor(options: ToyOptions) {
        super({ ...options, maxBodyBytes: options.maxBodyBytes - 1 });
      }
    },
  ),
];

const errorMutants: readonly Mutant[] = [
  mutant(
    'puts its password into errors',
    [
      'refused credentials are not in the error',
      'an outage is an Error with a cause, without secrets',
      'an error of start has no secrets',
      'the error of a broker that does not answer has no secrets',
    ],
    class extends ToyPublisher {
      protected override toError(error: unknown): unknown {
        const { host, port, password } = this.options;
        return new UnavailableError(`toy://app:${password}@${host}:${port} is away, using ${password}`, {
          cause: error,
        });
      }
    },
  ),
  mutant(
    'has its options in the fields of its errors',
    'an outage is an Error with a cause, without secrets',
    class extends ToyPublisher {
      protected override toError(error: unknown): unknown {
        return Object.assign(new UnavailableError('away', { cause: error }), { options: this.options });
      }
    },
  ),
  mutant(
    'forgets the cause of an outage',
    'an outage is an Error with a cause, without secrets',
    class extends ToyPublisher {
      protected override toError(): unknown {
        return new UnavailableError('the toy broker is away');
      }
    },
  ),
  mutant(
    'puts the payload into the error of a refused row',
    ['the error of a refused row has no secrets', 'the error of an unroutable row has no secrets'],
    class extends ToyPublisher {
      protected override settle(row: OutboxRow, answer: Parameters<ToyPublisher['settle']>[1]): void {
        if (answer.refused)
          throw new UnavailableError(`${row.topic}: refused ${JSON.stringify(row.payload)}`);
      }
    },
  ),
  mutant(
    'puts the headers into the error of an impossible row',
    'the error of an impossible row has no secrets',
    class extends ToyPublisher {
      protected override assertPossible(row: OutboxRow, message: ToyMessage): void {
        try {
          super.assertPossible(row, message);
        } catch (error) {
          throw Object.assign(new PermanentError('impossible', { cause: error }), {
            message: JSON.stringify(row.headers),
          });
        }
      }
    },
  ),
];

export const refusalMutants: readonly Mutant[] = [...impossibleMutants, ...errorMutants];

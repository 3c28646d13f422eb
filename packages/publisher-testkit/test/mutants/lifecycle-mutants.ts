import type { OutboxRow, PublisherCheckContext, PublisherProblem } from '@postcommit/core';
import { ToyClient } from '../toy-client.js';
import { ToyPublisher } from '../toy-publisher.js';
import { type Mutant, mutant } from './mutant.js';

type Stop = { readonly graceMs?: number };

const stopMutants: readonly Mutant[] = [
  mutant(
    'cannot stop',
    ['starts, publishes and stops', 'stop ends while the broker is away'],
    class extends ToyPublisher {
      override async stop(): Promise<void> {
        throw new Error('the connection is busy');
      }
    },
  ),
  mutant(
    'cannot stop what has not started',
    'stops without having been started, and twice',
    class extends ToyPublisher {
      #hasStarted = false;

      override async start(): Promise<void> {
        await super.start();
        this.#hasStarted = true;
      }

      override async stop(options: Stop): Promise<void> {
        if (!this.#hasStarted) throw new TypeError("can't read properties of undefined (reading 'close')");
        this.#hasStarted = false;
        await super.stop(options);
      }
    },
  ),
  mutant(
    'cannot start again',
    'start after stop works',
    class extends ToyPublisher {
      #isStopped = false;

      override async start(): Promise<void> {
        if (this.#isStopped) this.stopping.abort(new Error('stopped'));
        else await super.start();
      }

      override async stop(options: Stop): Promise<void> {
        this.#isStopped = true;
        await super.stop(options);
      }
    },
  ),
  mutant(
    'stops without waiting for confirmations',
    'stop waits for the confirmation of what is being sent',
    class extends ToyPublisher {
      override stop(): Promise<void> {
        return super.stop({ graceMs: 0 });
      }
    },
  ),
  mutant(
    'does not wait for what is being sent before it closes the connection',
    'stop waits for the confirmation of what is being sent',
    class extends ToyPublisher {
      override async stop(options: Stop): Promise<void> {
        await this.connection.close();
        await super.stop(options);
      }
    },
  ),
  mutant(
    'waits for confirmations without a limit',
    'stop ends after its grace period, and so does what is being sent',
    class extends ToyPublisher {
      protected override limit(): AbortSignal {
        return new AbortController().signal;
      }
    },
  ),
  mutant(
    'leaves its connection open',
    'no connection is open after stop',
    class extends ToyPublisher {
      protected override close(): void {}
    },
  ),
  mutant(
    'opens a connection for each row that is published before the first one is open, and forgets all but one',
    'no connection is open after stop',
    class extends ToyPublisher {
      override async start(): Promise<void> {
        await ToyClient.open(this.options, this.options.password, this.limit());
        await super.start();
      }
    },
  ),
  mutant(
    'connects again after it was stopped',
    'no connection is opened after a stop during an outage',
    class extends ToyPublisher {
      protected override async open(): Promise<ToyClient> {
        const client = await super.open();
        client.onClose(() => {
          setTimeout(
            () => ToyClient.open(this.options, this.options.password, AbortSignal.timeout(5_000)),
            100,
          );
        });
        return client;
      }
    },
  ),
  mutant(
    'keeps a timer after it was stopped',
    'no timer keeps the process alive after stop',
    class extends ToyPublisher {
      protected override async send(row: OutboxRow, signal: AbortSignal): Promise<void> {
        setTimeout(() => {}, 20_000);
        await super.send(row, signal);
      }
    },
  ),
  mutant(
    'closes a client that is not its own',
    'a client that was handed in stays open',
    class extends ToyPublisher {
      protected override close(client: ToyClient): void {
        client.close();
      }
    },
  ),
];

const checkMutants: readonly Mutant[] = [
  mutant(
    'reports nothing about the settings of the broker',
    'reports settings under which a confirmation is not true',
    class extends ToyPublisher {
      override async check(): Promise<readonly PublisherProblem[]> {
        return [];
      }
    },
  ),
  mutant(
    'finds a fault with every broker',
    'finds nothing that must be fixed at a sound broker, and sends nothing',
    class extends ToyPublisher {
      override async check(): Promise<readonly PublisherProblem[]> {
        return [{ level: 'required', problem: 'not seen before', fix: 'restart' }];
      }
    },
  ),
  mutant(
    'sends a message to see whether the broker is there',
    'finds nothing that must be fixed at a sound broker, and sends nothing',
    class extends ToyPublisher {
      override async start(): Promise<void> {
        await super.start();
        const message = {
          id: 'ping',
          topic: 'orders',
          headers: {},
          contentType: 'text/plain',
          body: '',
          isDurable: true,
        };
        await this.request({ do: 'send', message }, this.limit());
      }
    },
  ),
  mutant(
    'shows its password in what it reports',
    'has no secrets in what it reports',
    class extends ToyPublisher {
      override async check(context: PublisherCheckContext): Promise<readonly PublisherProblem[]> {
        const problems = await super.check(context);
        return problems.map((one) => ({ ...one, fix: `toy-admin --password=${this.options.password}` }));
      }
    },
  ),
  mutant(
    'fails its check when the broker is away',
    'says that the broker is away, if it is',
    class extends ToyPublisher {
      override async check(context: PublisherCheckContext): Promise<readonly PublisherProblem[]> {
        return super.check(context).catch(() => {
          throw new Error('the check failed');
        });
      }
    },
  ),
];

export const lifecycleMutants: readonly Mutant[] = [...stopMutants, ...checkMutants];

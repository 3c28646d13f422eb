import { openLink, type PublisherFixture, type PublisherHarness } from '../src/index.js';
import { MAX_BODY_BYTES, PASSWORD, ToyBroker } from './toy-broker.js';
import { ToyClient } from './toy-client.js';
import type { ToySettings } from './toy-protocol.js';
import { type ToyOptions, ToyPublisher } from './toy-publisher.js';

export type ToyPublisherClass = new (options: ToyOptions) => ToyPublisher;

/** A harness for the reference publisher or a mutant of it. */
export function toyHarness(
  Publisher: ToyPublisherClass = ToyPublisher,
  settings: Partial<ToySettings> = {},
  patienceMs?: number,
): PublisherHarness {
  return {
    ...(patienceMs !== undefined && { patienceMs }),
    traits: { dedupes: settings.dedupes ?? false, ordersByKey: true, keepsHeaderCase: true },
    open: () => openToy(Publisher, settings),
  };
}

async function openToy(
  Publisher: ToyPublisherClass,
  settings: Partial<ToySettings>,
): Promise<PublisherFixture> {
  const broker = await new ToyBroker(settings).start();
  const weak = await new ToyBroker({ ...settings, isDurable: false }).start();
  const link = await openLink(broker.address);
  const { host, port } = link;
  const options = { host, port, password: PASSWORD, timeoutMs: 1_500, maxBodyBytes: MAX_BODY_BYTES };
  return {
    createPublisher: (format) => new Publisher({ ...options, ...format }),
    received: async () => broker.received,
    topic: 'orders',
    link,
    unroutableTopic: 'nowhere',
    refusingTopic: 'full',
    impossibleRows: (row) => ({
      'a topic with a space': { ...row, topic: 'two words' },
      'a key that is too long': { ...row, key: 'k'.repeat(201) },
    }),
    maxBodyBytes: MAX_BODY_BYTES,
    secrets: [PASSWORD, 'wrong-horse'],
    withWrongCredentials: () => new Publisher({ ...options, password: 'wrong-horse' }),
    withBorrowedClient: async () => {
      const client = await ToyClient.open(link, PASSWORD, AbortSignal.timeout(5_000));
      return {
        publisher: new Publisher({ ...options, client }),
        isOpen: () => client.isOpen,
        close: async () => client.close(),
      };
    },
    untruthful: async () => ({
      'a broker that forgets': new Publisher({ ...options, ...weak.address }),
    }),
    restartBroker: async () => {
      await broker.kill();
      await broker.start();
    },
    close: async () => {
      await link.close();
      await broker.kill();
      await weak.kill();
    },
  };
}

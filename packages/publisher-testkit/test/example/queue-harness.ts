// queue-harness.ts
import { openLink, type PublisherFixture, type PublisherHarness } from '@postcommit/publisher-testkit';
import { openQueue } from './fake-queue.js';
import { QueuePublisher } from './queue-publisher.js';

const TOKEN = 'a-token-for-tests';

async function open(): Promise<PublisherFixture> {
  // A real broker where there is one, with a topic of its own for each test.
  const queue = await openQueue(TOKEN);
  const link = await openLink(queue);
  const createPublisher = (token: string) =>
    new QueuePublisher({ url: `http://${link.host}:${link.port}`, token, timeoutMs: 1_500 });
  return {
    createPublisher: () => createPublisher(TOKEN),
    received: async () => queue.messages.map((one) => ({ ...one, destination: one.topic, nativeId: one.id })),
    topic: 'orders',
    link,
    unroutableTopic: 'nowhere',
    refusingTopic: 'full',
    impossibleRows: (row) => ({ 'a topic with a space': { ...row, topic: 'two words' } }),
    secrets: [TOKEN, 'wrong-token'],
    withWrongCredentials: () => createPublisher('wrong-token'),
    close: async () => {
      await link.close();
      await queue.close();
    },
  };
}

const noFormat = 'the publisher has no such option';

export const queueHarness: PublisherHarness = {
  traits: { dedupes: false, ordersByKey: true, keepsHeaderCase: true },
  open,
  skip: [
    { name: 'encode decides body, content type and headers', reason: noFormat },
    {
      name: 'a row that cannot be encoded is refused for good and does not fail its neighbours',
      reason: noFormat,
    },
    { name: 'cloudEvents sends the attributes of CloudEvents 1.0', reason: noFormat },
  ],
};

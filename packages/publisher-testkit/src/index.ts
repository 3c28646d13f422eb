export { describeOutboxPublisher } from './describe-outbox-publisher.js';
export type { Link } from './link.js';
export { openLink } from './link.js';
export type {
  PublisherFixture,
  PublisherHarness,
  PublisherTraits,
  ReceivedMessage,
} from './publisher-harness.js';

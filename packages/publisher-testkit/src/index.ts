export type { Link } from './link.js';
export { openLink } from './link.js';
export type {
  PublisherFixture,
  PublisherHarness,
  PublisherTraits,
  ReceivedMessage,
} from './publisher-harness.js';

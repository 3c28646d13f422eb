import { describeOutboxPublisher } from '../src/index.js';
import { toyHarness } from './toy-harness.js';

describeOutboxPublisher('the reference publisher', toyHarness());
describeOutboxPublisher(
  'the reference publisher on a broker that drops duplicates',
  toyHarness(undefined, { dedupes: true }),
);

import { describeOutboxPublisher } from '../src/index.js';
import { toyHarness } from './toy-harness.js';

describeOutboxPublisher('the reference publisher', toyHarness());

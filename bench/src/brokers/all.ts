import type { BenchBroker } from './broker.js';
import { nats } from './nats.js';
import { rabbitmq } from './rabbitmq.js';

export const brokers: readonly BenchBroker[] = [rabbitmq, nats];

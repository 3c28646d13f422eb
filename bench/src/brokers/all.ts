import type { BenchBroker } from './broker.js';
import { kafka } from './kafka.js';
import { nats } from './nats.js';
import { rabbitmq } from './rabbitmq.js';
import { webhook } from './webhook.js';

export const brokers: readonly BenchBroker[] = [rabbitmq, nats, kafka, webhook];

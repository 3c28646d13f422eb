import { setTimeout as pause } from 'node:timers/promises';
import type { TestBroker } from '@internal/test-brokers/broker-process';

/** How long it stays away. */
const SHORTEST_MS = 100;
const LONGEST_MS = 1_500;

export async function killAndStart(broker: TestBroker): Promise<void> {
  await broker.kill();
  await pause(SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS));
  await broker.start();
}

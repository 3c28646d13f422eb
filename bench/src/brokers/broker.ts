import type { OutboxPublisher } from '@postcommit/core';

/** What is sent to a broker without an outbox. */
export interface BenchMessage {
  readonly id: string;
  readonly body: string;
}

/** A broker that the outbox can deliver to. */
export interface BenchBroker {
  /** For `--subjects`. */
  readonly id: string;
  readonly name: string;
  /** How it and its client are set up, for the reader. */
  readonly settings: string;
  /** How many rows are published at the same time, for a publisher that does not take batches. */
  readonly concurrency?: number;
  /** Why it can't be measured on this machine. */
  absent(): Promise<string | undefined>;
  /** Makes an empty destination of this name, in the benchmark's process. */
  create(destination: string): Promise<void>;
  remove(destination: string): Promise<void>;
  /** In any process. */
  open(destination: string): Promise<OpenBroker>;
}

export interface OpenBroker {
  readonly publisher: OutboxPublisher;
  /** One message, confirmed. */
  send(message: BenchMessage): Promise<void>;
  /** All of them as fast as the client can, and confirmed. */
  sendAll(messages: readonly BenchMessage[]): Promise<void>;
  close(): Promise<void>;
}

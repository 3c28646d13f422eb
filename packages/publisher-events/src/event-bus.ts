import { nameToken } from '@postcommit/core';
import type { Listener } from './listener.js';

/** A listener that threw or rejected. */
export interface ListenerFailure {
  readonly listener: string;
  readonly error: unknown;
}

/** What became of one event. */
export interface Delivery {
  /** How many listeners heard it, the failed ones included. */
  readonly listeners: number;
  readonly failures: readonly ListenerFailure[];
}

/**
 * Hands an event to every listener of its class. A listener of a parent class is not one of them. Bind another one
 * in place of `MemoryEventBus` to observe or to change how listeners are called.
 */
export abstract class EventBus {
  static {
    nameToken(this, '@postcommit/publisher-events/EventBus');
  }

  /** Gives the way to stop listening; calling that twice is harmless. */
  abstract subscribe<Event extends object>(listener: Listener<Event>): () => void;

  /**
   * Calls every listener that accepts the event, whatever the others do, and resolves when all have ended. It does
   * not reject because a listener failed: look at `failures`.
   */
  abstract publish(event: object): Promise<Delivery>;
}

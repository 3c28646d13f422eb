import { nameToken } from '@postcommit/core/internal';
import type { Listener } from './listener.js';

/** A listener that threw or rejected. */
export interface ListenerFailure {
  readonly listener: string;
  readonly error: unknown;
}

/** The outcome of publishing one event. */
export interface Delivery {
  /** How many listeners were called, including those that failed. */
  readonly listeners: number;
  readonly failures: readonly ListenerFailure[];
}

/**
 * Delivers an event to every listener of its exact class; listeners of a parent class are not called. Bind your own
 * instead of `MemoryEventBus` to observe or change how listeners are called.
 */
export abstract class EventBus {
  static {
    nameToken(this, '@postcommit/publisher-events/EventBus');
  }

  /** Adds a listener. Returns an unsubscribe function, which may be called more than once. */
  abstract subscribe<Event extends object>(listener: Listener<Event>): () => void;

  /**
   * Calls every listener that accepts the event, even if others fail, and resolves when all have finished. It does not
   * reject when a listener fails: check `failures`.
   */
  abstract publish(event: object): Promise<Delivery>;
}

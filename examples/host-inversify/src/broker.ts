import { EventEmitter } from 'node:events';
import type { OutboxRow } from '@postcommit/core';
import { injectable } from 'inversify';

/** A class of the application, and what publishes. */
@injectable()
export class Broker {
  /** Emits the key of what was sent. */
  readonly events = new EventEmitter();

  async send({ topic, key = '', payload }: OutboxRow): Promise<void> {
    console.log('sent', topic, payload);
    this.events.emit(key);
  }
}

import { EventEmitter } from 'node:events';

/** Stands for yours. It only prints, and emits the id of what was sent. */
class Broker extends EventEmitter {
  async send(topic: string, payload: unknown, { messageId }: { messageId: string }): Promise<void> {
    console.log('sent', topic, payload);
    this.emit(messageId);
  }
}

export const broker = new Broker();

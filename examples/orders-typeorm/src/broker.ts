import { EventEmitter } from 'node:events';

interface Message {
  readonly topic: string;
  readonly payload: unknown;
  readonly messageId: string;
}

/** Stands for yours: it only remembers, and tells. */
class Broker extends EventEmitter {
  readonly sent: Message[] = [];

  async send(topic: string, payload: unknown, { messageId }: { messageId: string }): Promise<void> {
    console.log(`sent ${topic} ${JSON.stringify(payload)}`);
    this.sent.push({ topic, payload, messageId });
    this.emit('sent');
  }
}

export const broker = new Broker();

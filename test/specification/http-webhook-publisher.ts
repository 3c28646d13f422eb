import { Injectable, OutboxPublisher, type OutboxRow } from '@postcommit/core';

/** Stands for `https://example.com/hook` of the document: the address of a server that runs here. */
export const hook = { url: '' };

@Injectable()
export class HttpWebhookPublisher extends OutboxPublisher {
  async publish(row: OutboxRow): Promise<void> {
    const response = await fetch(hook.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ topic: row.topic, payload: row.payload }),
      redirect: 'manual',
    });
    if (!response.ok) {
      throw new Error(`webhook ${response.status}`);
    }
  }
}

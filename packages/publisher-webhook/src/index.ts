export type { WebhookHeaders, WebhookOptions, WebhookSecret, WebhookVerdict } from './webhook-options.js';
export { webhookPublisher } from './webhook-publisher.js';
export { OutboxWebhookModule } from './outbox-webhook-module.js';

// Any broker
export type { BrokerMessage, MessageHeaders } from './broker-message.js';
export { messageIdOf } from './message-id-of.js';
export type { Handling } from './handle-once.js';
export { handleOnce } from './handle-once.js';

// CloudEvents
export type { CloudEvent } from './cloud-event.js';
export { cloudEventOf } from './cloud-event.js';

// Webhooks
export type { WebhookAnswer } from './webhook-answer.js';
export type { WebhookMessage } from './webhook-message.js';
export type { WebhookReceiver, WebhookReceiverOptions, WebhookRequest } from './webhook-receiver.js';
export { webhookReceiver } from './webhook-receiver.js';
export type { VerifyWebhookOptions } from './verify-webhook.js';
export { verifyWebhook } from './verify-webhook.js';

import { type Module, OutboxPublisher } from '@postcommit/core';
import type { WebhookOptions } from './webhook-options.js';
import { webhookPublisher } from './webhook-publisher.js';

/**
 * Binds `webhookPublisher` as the publisher of the application.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for an invalid option.
 * @example
 * OutboxWebhookModule.forRoot({ url: 'https://partner.example/hooks', secret: process.env.WEBHOOK_SECRET ?? '' })
 */
export const OutboxWebhookModule: { forRoot(options: WebhookOptions): Module } = {
  forRoot: (options) => ({
    name: 'OutboxWebhookModule',
    provides: [{ provide: OutboxPublisher, useValue: webhookPublisher(options) }],
  }),
};

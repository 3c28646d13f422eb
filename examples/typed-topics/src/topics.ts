import { z } from 'zod';

/** The one place that says what the application's messages look like. */
export const topics = {
  'order.paid': z.object({ orderId: z.string().min(1), cents: z.int().positive() }),
  'order.cancelled': z.object({ orderId: z.string().min(1), reason: z.enum(['customer', 'stock']) }),
};

type Topics = { [Topic in keyof typeof topics]: z.infer<(typeof topics)[Topic]> };

declare module '@postcommit/core' {
  interface OutboxTopics extends Topics {}
}

import { z } from 'zod';

/** The one place that says what the application's messages look like. */
export const topics = {
  'order.paid': z.object({ orderId: z.string().min(1), cents: z.int().positive() }),
  'order.cancelled': z.object({ orderId: z.string().min(1), reason: z.enum(['customer', 'stock']) }),
};

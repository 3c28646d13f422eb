/** Its fields are the payload, its `eventType` is the topic. */
export class OrderCreated {
  static readonly eventType = 'order.created';

  constructor(readonly orderId: string) {}
}

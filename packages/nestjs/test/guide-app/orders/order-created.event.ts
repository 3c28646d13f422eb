export class OrderCreatedEvent {
  static readonly eventType = 'order.created';

  constructor(readonly orderId: string) {}
}

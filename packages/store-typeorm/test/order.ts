import { EntitySchema } from 'typeorm';

/** A business entity, made without decorators. */
export class Order {
  id = '';
  status = 'new';
}

export const OrderEntity = new EntitySchema<Order>({
  name: 'Order',
  target: Order,
  tableName: 'orders',
  columns: { id: { type: 'varchar', primary: true }, status: { type: 'varchar' } },
});

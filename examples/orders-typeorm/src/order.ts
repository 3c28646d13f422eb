import { EntitySchema } from 'typeorm';

export interface OrderRow {
  id: string;
  status: string;
}

export const Order: EntitySchema<OrderRow> = new EntitySchema<OrderRow>({
  name: 'Order',
  tableName: 'typeorm_orders',
  columns: { id: { type: String, primary: true }, status: { type: String } },
});

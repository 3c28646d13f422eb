import { EntitySchema } from 'typeorm';

export interface OrderRow {
  id: string;
  customer: string;
  total: number;
}

export const Order: EntitySchema<OrderRow> = new EntitySchema<OrderRow>({
  name: 'Order',
  tableName: 'orders',
  columns: {
    id: { type: String, primary: true, length: 36 },
    customer: { type: String },
    total: { type: Number },
  },
});

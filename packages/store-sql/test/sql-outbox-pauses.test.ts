import { beforeEach, expect, it } from 'vitest';
import { SqlOutboxPauses } from '../src/capabilities/sql-outbox-pauses.js';
import { listenOn } from './listener.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres();

beforeEach(() => fixture.clear());

it('a pause and its end wake the workers that listen, but only if they change something', async () => {
  const pauses = new SqlOutboxPauses(fixture.executor);
  const listener = await listenOn(fixture);
  expect(await pauses.pause('order.paid')).toBe(true);
  expect(await listener.taken()).toEqual(['']);
  expect(await pauses.pause('order.paid')).toBe(false);
  expect(await listener.taken()).toEqual([]);
  expect(await pauses.resume('order.paid')).toBe(true);
  expect(await listener.taken()).toEqual(['']);
  expect(await pauses.resume('order.paid')).toBe(false);
  expect(await listener.taken()).toEqual([]);
});

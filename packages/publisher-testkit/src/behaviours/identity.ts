import { MESSAGE_HEADERS } from '@postcommit/core/internal';
import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectAllFulfilled, expectFulfilled } from '../expectations.js';
import type { ReceivedMessage } from '../publisher-harness.js';
import { idsOf } from '../test-rows.js';

/** The value of a header, whatever the broker has done to the case of its name. */
export function headerOf({ headers }: ReceivedMessage, name: string): string | undefined {
  const found = Object.keys(headers).find((key) => key.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : headers[found];
}

function text(message: ReceivedMessage): string {
  return Buffer.from(message.body).toString('base64');
}

export const identity: BehaviourGroup = {
  name: 'identity',
  behaviours: {
    'the id of a message is that of its row, as a header and in the field of the broker': async (scene) => {
      const sender = await scene.started();
      const row = scene.row({ id: 'order-4711/paid' });
      expectFulfilled(await sender.publish(row));
      const message = await scene.message(row);
      expect(message.id).toBe(row.id);
      expect(headerOf(message, MESSAGE_HEADERS.id)).toBe(row.id);
      if ('nativeId' in message) expect(message.nativeId).toBe(row.id);
    },

    'each row of a batch has its own id, body and headers': async (scene) => {
      const sender = await scene.started();
      const rows = scene.rows(20, (index) => ({ headers: { number: `${index}` } }));
      expectAllFulfilled(await sender.batch(rows), rows);
      const messages = await scene.arrived(...rows);
      const numbers = new Map(messages.map((message) => [message.id, message]));
      for (const [index, row] of rows.entries()) {
        const message = numbers.get(row.id);
        if (!message) throw new Error(`row ${row.id} did not arrive`);
        expect(Buffer.from(message.body).toString()).toBe(JSON.stringify({ number: index }));
        expect(headerOf(message, 'number')).toBe(`${index}`);
      }
    },

    'a row that is published again has the same id, body and headers': async (scene) => {
      const sender = await scene.started();
      const row = scene.row({ headers: { tenant: 'a' } });
      // A broker that drops duplicates would not show a second message with the same id.
      const id = scene.traits.dedupes ? scene.row().id : row.id;
      expectFulfilled(await sender.publish(row));
      expectFulfilled(await sender.publish({ ...row, id, attempts: 4, lastError: 'away' }));
      const [first, second] = await scene.arrived(row, { ...row, id });
      if (!first || !second) throw new Error('the second message did not arrive');
      expect(text(second)).toBe(text(first));
      expect(second.contentType).toBe(first.contentType);
      const { id: idHeader, ...others } = MESSAGE_HEADERS;
      for (const name of [...Object.values(others), 'tenant'])
        expect(headerOf(second, name), name).toBe(headerOf(first, name));
      const ids = [headerOf(first, idHeader), headerOf(second, idHeader)];
      expect(new Set(ids)).toEqual(new Set([row.id, id]));
    },

    'a row whose answer was lost is published again under the same id': async (scene) => {
      const sender = await scene.connected();
      const before = idsOf(await scene.fixture.received());
      const row = scene.row();
      scene.fixture.link.loseNextAnswer();
      await sender.deliver(row);
      await scene.arrived(row);
      const after = idsOf(await scene.fixture.received()).slice(before.length);
      expect(new Set(after)).toEqual(new Set([row.id]));
    },

    'a row that was published twice arrives once if the broker drops duplicates': async (scene) => {
      scene.needsTrait('dedupes');
      const sender = await scene.started();
      const row = scene.row();
      expectFulfilled(await sender.publish(row));
      expectFulfilled(await sender.publish({ ...row, attempts: 1 }));
      expect(await scene.arrivedAtLast(sender, [row])).toHaveLength(1);
    },
  },
};

/** The worker: sends what the web server has committed to the warehouse. */
import assert from 'node:assert/strict';
import { createOutbox, errorFromResponse } from '@postcommit/core';
import { pool, store } from './outbox.js';

const { WAREHOUSE_URL } = process.env;
assert.ok(WAREHOUSE_URL, 'Set WAREHOUSE_URL to where paid orders are sent');

const outbox = createOutbox({
  store,
  publisher: async ({ id, topic, payload }, { signal }) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': id };
    const body = JSON.stringify({ topic, payload });
    // A POST that is redirected arrives as a GET without its body.
    const response = await fetch(WAREHOUSE_URL, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal,
    });
    if (!response.ok) throw await errorFromResponse(response); // 422, for example, is final
  },
  onDead: ({ row, error }) => console.log(`worker: ${row.id} is dead: ${error}`),
});
await outbox.start();
await outbox.runUntilSignal();
await pool.end();

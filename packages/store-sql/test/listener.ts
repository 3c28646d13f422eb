import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { PostgresFixture } from './postgres-fixture.js';

/** What arrives on a channel, as another process would hear it. */
export interface Listener {
  /** The payloads since the last call. Waits for all that was committed before. */
  taken(): Promise<string[]>;
}

/** Listens until the test ends. */
export async function listenOn(fixture: PostgresFixture, channel = 'postcommit_outbox'): Promise<Listener> {
  const client = new pg.Client({ connectionString: fixture.url });
  let heard: string[] = [];
  let onMarker: (() => void) | undefined;
  client.on('notification', ({ payload = '' }) => {
    if (payload === 'marker') onMarker?.();
    else heard.push(payload);
  });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`listen ${client.escapeIdentifier(channel)}`);
  return {
    taken: async () => {
      // Notifications arrive in the order of their commits: when this one is there, so is all before it.
      const marker = new Promise<void>((resolve) => {
        onMarker = resolve;
      });
      await fixture.query('select pg_notify($1, $2)', [channel, 'marker']);
      await marker;
      const taken = heard;
      heard = [];
      return taken;
    },
  };
}

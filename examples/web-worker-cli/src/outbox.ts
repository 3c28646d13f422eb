/** What all processes share: the web server, the worker and the command line. */
import assert from 'node:assert/strict';
import { createOutbox } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

// `allowExitOnIdle`: a command of the command line ends without closing the pool.
export const pool = new pg.Pool({ connectionString: DATABASE_URL, allowExitOnIdle: true });
export const store = pgStore(pool);

/** Enqueues and is operated on, but publishes nothing: that is the worker's part. */
export const outbox = createOutbox({ store, worker: false });

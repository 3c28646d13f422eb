import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { startPostgres } from '@postcommit/tooling/postgres';
import pg from 'pg';
import type { Place } from './subject.js';

export interface Server {
  /** Runs work in a new, empty database. */
  withPlace<T>(work: (place: Place) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/** One durable server for the whole run: what differs between subjects is not the machine. */
export async function startServer(): Promise<Server> {
  const server = await startPostgres({
    durable: true,
    // As PostgreSQL comes: `logical`, which the tests use, doubles what an update writes.
    settings: {
      wal_level: 'replica',
      shared_buffers: '1GB',
      max_wal_size: '4GB',
      checkpoint_timeout: '15min',
    },
  });
  const admin = new pg.Pool({ connectionString: server.url, max: 1 });
  return {
    withPlace: async (work) => {
      const name = `bench_${randomUUID().replaceAll('-', '')}`;
      await admin.query(`create database ${name}`);
      const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
      const pool = new pg.Pool({ connectionString: url, max: 60 });
      try {
        await pool.query(
          'create table orders (id bigint generated always as identity primary key, number bigint not null)',
        );
        return await work({ url, pool });
      } finally {
        await pool.end();
        await dropQuietly(admin, name);
      }
    },
    stop: async () => {
      await admin.end();
      await server.stop();
    },
  };
}

/** Statistics and the visibility map as a running system has them, and no checkpoint in the middle of a measurement. */
export async function settleDown({ pool }: Place): Promise<void> {
  await pool.query('vacuum analyze');
  await pool.query('checkpoint');
}

/** A connection that was just closed may still be there for the server: forcing it out would be an error in its pool. */
async function dropQuietly(admin: pg.Pool, name: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const dropped = await admin.query(`drop database ${name}`).then(
      () => true,
      () => false,
    );
    if (dropped) return;
    await setTimeout(100);
  }
}

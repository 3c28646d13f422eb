import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { startPostgres } from '@internal/test-database/postgres';
import pg from 'pg';
import type { Place } from './subject.js';

export type WalLevel = 'replica' | 'logical';

export interface Server {
  /** As it calls itself. */
  readonly version: string;
  /** Makes a new database. */
  open(): Promise<OpenPlace>;
  stop(): Promise<void>;
}

export interface OpenPlace extends Place {
  drop(): Promise<void>;
}

/** One durable server for the whole run: what differs between subjects is not the machine. */
export async function startServer(walLevel: WalLevel): Promise<Server> {
  const server = await startPostgres({
    durable: true,
    settings: {
      wal_level: walLevel,
      shared_buffers: '1GB',
      max_wal_size: '4GB',
      checkpoint_timeout: '15min',
    },
  });
  const admin = new pg.Pool({ connectionString: server.url, max: 1 });
  const { rows } = await admin.query<{ server_version: string }>('show server_version');
  return {
    version: rows[0]?.server_version ?? 'unknown',
    open: () => openPlace(admin, server.url),
    stop: async () => {
      await admin.end();
      await server.stop();
    },
  };
}

async function openPlace(admin: pg.Pool, serverUrl: string): Promise<OpenPlace> {
  const name = `bench_${randomUUID().replaceAll('-', '')}`;
  await admin.query(`create database ${name}`);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  await setUp({ url }, (setting) =>
    setting.query(
      'create table orders (id bigint generated always as identity primary key, number bigint not null)',
    ),
  );
  const pool = new pg.Pool({ connectionString: url, max: 60 });
  const drop = async (): Promise<void> => {
    await pool.end();
    await dropQuietly(admin, name);
  };
  return { name, url, pool, drop };
}

/**
 * Tables are made on a connection of its own: one that has made or checked them is a tenth slower with bulks, and who
 * makes its own connections would be ahead of who is given ours.
 */
export async function setUp(
  { url }: Pick<Place, 'url'>,
  work: (pool: pg.Pool) => Promise<unknown>,
): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
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
  await admin.query(`drop database if exists ${name} with (force)`);
}
